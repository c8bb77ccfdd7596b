import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLogger, silentLogger } from '../../../foundation/log.ts'
import { writeTinyModel } from '../../models/tiny-model.ts'
import { loadModelFile } from '../../test-support/loaded-model.fixture.ts'
import { Computing } from './computing.ts'
import type { ContextShape } from './context-shape.ts'
import { GrowingContext } from './growing-context.ts'
import type { LoadedModel, Token } from './loaded-model.ts'
import { Sequence } from './sequence.ts'
import { fixedThreads } from './step-threads.ts'
import { TokenSampler } from './token-sampler.ts'

const { signal } = new AbortController()
const likeliest = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  repetitionPenalty: 1,
  logitBias: new Map<number, number>(),
}
const most: ContextShape = { sequences: 4, length: 1024 }
const small: ContextShape = { sequences: 1, length: 256 }

describe('a context that grows', () => {
  let folder: string
  let model: LoadedModel
  const lines: string[] = []
  const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  const computedAgain = () => lines.filter((line) => line.includes('computed again')).length

  beforeEach(async () => {
    lines.length = 0
    folder = await mkdtemp(join(tmpdir(), 'sluice-context-'))
    vi.stubEnv('TMPDIR', folder)
    const file = join(folder, 'tiny.gguf')
    await writeTinyModel(file)
    model = await loadModelFile(file)
  })
  afterEach(async () => {
    await model.dispose()
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true, force: true })
  })

  const open = async (first: ContextShape) => {
    const context = await GrowingContext.open({ model, threads: 1, batchSize: 128, first, most, log })
    return { context, computing: new Computing(context, 128, fixedThreads(1)) }
  }
  /** Generates so many tokens after a prompt, each the likeliest. */
  const answer = async (computing: Computing, sequence: Sequence, prompt: readonly Token[], count: number) => {
    const sampler = new TokenSampler(model, likeliest, { promptTokens: prompt, generated: [] }, undefined)
    const tokens: Token[] = []
    let next: readonly Token[] = prompt
    while (tokens.length < count) {
      const drawn = await computing.compute({ sequence, tokens: next, sampler: sampler.prepare() }, signal)
      next = [drawn?.token ?? -1]
      tokens.push(...next)
    }
    sampler.dispose()
    return tokens
  }
  const prompt = (first: number) => Array.from({ length: 40 }, (_, index) => 10 + ((first + index * 7) % 200))

  it('says the same as one that was large from the beginning', async () => {
    const [large, growing] = [await open(most), await open(small)]
    const answersOf = ({ computing }: typeof large) =>
      Promise.all([0, 1, 2].map((first) => answer(computing, new Sequence(), prompt(first), 300)))
    expect(await answersOf(growing)).toEqual(await answersOf(large))
    expect(growing.context.shape).toEqual({ sequences: 4, length: 512 })
    expect(computedAgain()).toBe(0)
    await large.context.dispose()
    await growing.context.dispose()
    expect(await readdir(folder)).toEqual(['tiny.gguf'])
  })

  it('computes again what cannot be moved, and goes on in the middle of an answer', async () => {
    const [large, growing] = [await open(most), await open(small)]
    const expected = await answer(large.computing, new Sequence(), prompt(5), 400)
    vi.stubEnv('TMPDIR', join(folder, 'not-there'))
    expect(await answer(growing.computing, new Sequence(), prompt(5), 400)).toEqual(expected)
    expect(growing.context.shape.length).toBe(512)
    await large.context.dispose()
    await growing.context.dispose()
  })

  it('keeps the last conversation when it shrinks, and forgets the others', async () => {
    const { context, computing } = await open(small)
    const large = await open(most)
    const same = new Sequence()
    await answer(large.computing, same, prompt(2), 5)
    const sequences = [new Sequence(), new Sequence(), new Sequence()]
    for (const [index, sequence] of sequences.entries()) {
      sequence.usedAt = index
      await answer(computing, sequence, prompt(index), 5)
    }
    expect(context.shape.sequences).toBe(4)
    await computing.between(() => context.shrink())
    expect(context.shape).toEqual(small)
    expect(sequences.map(({ id, tokens }) => [id, tokens.length])).toEqual([
      [undefined, 0],
      [undefined, 0],
      [0, 44],
    ])
    const [, , kept] = sequences
    const more = kept && (await answer(computing, kept, prompt(9), 20))
    expect(more).toEqual(await answer(large.computing, same, prompt(9), 20))
    expect(computedAgain()).toBe(0)
    await large.context.dispose()
    await context.dispose()
  })

  it('fails only for whom there is no room, and serves the others in the same step', async () => {
    const { context, computing } = await open(small)
    const tooLong = computing.compute(
      { sequence: new Sequence(), tokens: prompt(0).concat(Array(1000).fill(20)) },
      signal,
    )
    const fine = answer(computing, new Sequence(), prompt(1), 2)
    await expect(tooLong).rejects.toMatchObject({ code: 'engine_memory_full' })
    expect(await fine).toHaveLength(2)
    await context.dispose()
  })
})

describe('a sequence', () => {
  it('forgets from where a prompt differs, and continues as if it had never known more', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-sequence-'))
    const file = join(folder, 'tiny.gguf')
    await writeTinyModel(file)
    const model = await loadModelFile(file)
    const options = { model, threads: 1, batchSize: 128, first: small, most, log: silentLogger }
    const context = await GrowingContext.open(options)
    const computing = new Computing(context, 128, fixedThreads(1))
    const sampler = new TokenSampler(model, likeliest, { promptTokens: [], generated: [] }, undefined)
    const draw = (sequence: Sequence, tokens: readonly Token[]) =>
      computing.compute({ sequence, tokens, sampler: sampler.prepare() }, signal)
    const [used, fresh] = [new Sequence(), new Sequence()]
    await draw(used, [20, 21, 22, 23, 24, 25])
    expect(used.sharedWith([20, 21, 22, 99])).toBe(3)
    await computing.between((native) => used.keep(3, native))
    expect(used.tokens).toEqual([20, 21, 22])
    expect(await draw(used, [40, 41])).toEqual(await draw(fresh, [20, 21, 22, 40, 41]))
    await computing.between((native) => used.keep(0, native))
    expect(used.tokens).toEqual([])
    sampler.dispose()
    await context.dispose()
    await model.dispose()
    await rm(folder, { recursive: true })
  })
})
