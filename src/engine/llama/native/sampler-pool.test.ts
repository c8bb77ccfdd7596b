import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLogger } from '../../../foundation/log.ts'
import { AnswerGrammars, requireGrammar } from '../../grammar/answer-grammar.ts'
import { writeTinyModel } from '../../models/tiny-model.ts'
import { loadModelFile } from '../../test-support/loaded-model.fixture.ts'
import type { AnswerFormat, Sampling } from '../language-model.ts'
import { Computing } from './computing.ts'
import { GrowingContext } from './growing-context.ts'
import type { LoadedModel, Token } from './loaded-model.ts'
import { Sequence } from './sequence.ts'
import { fixedThreads } from './step-threads.ts'
import { TokenSampler } from './token-sampler.ts'

const shape = { sequences: 2, length: 256 }
const { signal } = new AbortController()
const drawn: Sampling = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 7,
  presencePenalty: 0,
  frequencyPenalty: 0,
  repetitionPenalty: 1,
  logitBias: new Map(),
}

describe('samplers that are used again', () => {
  let folder: string
  let model: LoadedModel
  let context: GrowingContext
  let computing: Computing

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-samplers-'))
    const file = join(folder, 'tiny.gguf')
    await writeTinyModel(file)
    model = await loadModelFile(file)
    const options = { model, threads: 1, batchSize: 128, first: shape, most: shape, log: silentLogger }
    context = await GrowingContext.open(options)
    computing = new Computing(context, 128, fixedThreads(1))
  })
  afterEach(async () => {
    await context.dispose()
    await model.dispose()
    await rm(folder, { recursive: true })
  })

  const natives = new Set<unknown>()
  /** The answer to the same prompt each time. */
  const answer = async (sampling: Sampling, format?: AnswerFormat, count = 20) => {
    const compiled = format && requireGrammar(await new AnswerGrammars(model.addon).compile(format))
    const grammar = compiled && new model.addon.AddonGrammarEvaluationState(model.native, compiled)
    const sequence = new Sequence()
    const generated: Token[] = []
    let next: readonly Token[] = [10, 17, 24]
    const sampler = new TokenSampler(model, sampling, { promptTokens: next, generated }, grammar)
    natives.add(sampler.native)
    while (generated.length < count) {
      const result = await computing.compute({ sequence, tokens: next, sampler: sampler.prepare() }, signal)
      next = [result?.token ?? -1]
      generated.push(...next)
    }
    sampler.dispose()
    await computing.between(() => context.forget(sequence))
    return generated
  }

  it('are one for each answer at a time', async () => {
    const [one, other] = [model.samplers.take(), model.samplers.take()]
    expect(one).not.toBe(other)
    model.samplers.giveBack(one, 1)
    expect(model.samplers.take()).toBe(one)
  })

  it('draw as new ones, whatever they drew before', async () => {
    const first = await answer(drawn)
    const likeliest = await answer({ ...drawn, temperature: 0 })
    expect(await answer({ ...drawn, seed: 8 })).not.toEqual(first)
    const befores: Array<() => Promise<unknown>> = [
      () => answer(drawn),
      () => answer({ ...drawn, temperature: 0 }),
      () => answer({ ...drawn, temperature: 0.2, topP: 0.1, topK: 2, minP: 0.5 }),
      () => answer({ ...drawn, presencePenalty: 2, frequencyPenalty: 2 }),
      () => answer({ ...drawn, repetitionPenalty: 2 }),
      () => answer({ ...drawn, logitBias: new Map(first.map((token) => [token, -100])) }),
      () => answer({ ...drawn, seed: 0 }),
      () => answer(drawn, { type: 'json_object' }, 3),
    ]
    for (const before of befores) {
      await before()
      expect(await answer(drawn)).toEqual(first)
      await before()
      expect(await answer({ ...drawn, temperature: 0 })).toEqual(likeliest)
    }
    expect(natives.size).toBe(1)
  })
})
