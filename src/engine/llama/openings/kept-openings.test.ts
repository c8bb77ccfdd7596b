import { mkdtemp, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../../foundation/log.ts'
import { systemClock } from '../../../foundation/clock.ts'
import { tinyPlainTemplate, writeTinyModel } from '../../models/tiny-model.ts'
import { startEngine } from '../../serve.ts'
import { KeptOpenings } from './kept-openings.ts'

const instructions = 'be of use to whoever asks'
/** Like many templates, it writes instructions of its own where there are none. */
const chatTemplate = `{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\n${instructions}<|im_end|>\\n' }}{% endif %}${tinyPlainTemplate}`
const answerSchema = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) })
const contentOf = (answer: unknown) => answerSchema.parse(answer).choices[0].message.content
const system = { role: 'system', content: 'other ones' }
const question = { role: 'user', content: 'why' }

describe('what a template begins with', () => {
  let folder: string
  let openings: string
  let file: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-openings-'))
    openings = join(folder, 'openings')
    file = join(folder, 'tiny.gguf')
    await writeTinyModel(file, { chatTemplate })
  })
  afterEach(() => rm(folder, { recursive: true }))

  /** The answers of an engine that was just started, and how much of the first prompt it had computed before. */
  const answersOf = async (kept?: string) => {
    const surroundings = { log: silentLogger, clock: systemClock, environment: {} }
    const options = { modelPath: file, servedModelName: 'tiny', host: '127.0.0.1', port: 0, threads: 1 }
    const engine = await startEngine(options, { ...surroundings, ...(kept === undefined ? {} : { openings: kept }) })
    try {
      await engine.ready
      const { url } = engine.address
      const first = await ask(url, [question])
      const metrics = await (await fetch(`${url}/metrics`)).text()
      const reused = Number(/^sluice_engine_reused_prompt_tokens_total\S* (\d+)/m.exec(metrics)?.[1])
      return { answers: [first, await ask(url, [system, question])], reused }
    } finally {
      await engine.stop(0)
    }
  }
  const ask = async (url: string, messages: readonly object[]) => {
    const body = JSON.stringify({ model: 'tiny', messages, temperature: 0, max_tokens: 20 })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    return answer.json().then(contentOf)
  }

  it('is computed by the first start only, and answers are the same', async () => {
    const without = await answersOf()
    const first = await answersOf(openings)
    const [name = ''] = await readdir(openings)
    const { ino } = await stat(join(openings, name))
    const later = await answersOf(openings)
    expect(first).toEqual(without)
    expect(later).toEqual(without)
    expect(later.reused).toBeGreaterThan(instructions.length / 2)
    expect(await readdir(openings)).toEqual([name])
    expect((await stat(join(openings, name))).ino).toBe(ino)
  })

  it('is computed again if its file was cut off, is something else, or cannot be written', async () => {
    const without = await answersOf(openings)
    const [name = ''] = await readdir(openings)
    const written = await readFile(join(openings, name))
    await truncate(join(openings, name), written.length - 1000)
    expect(await answersOf(openings)).toEqual(without)
    expect((await readFile(join(openings, name))).equals(written)).toBe(true)
    await writeFile(join(openings, name), 'something else')
    expect(await answersOf(openings)).toEqual(without)
    expect(await answersOf(join(file, 'no folder'))).toEqual(without)
  })

  it('belongs to one model file as it is', async () => {
    const kept = new KeptOpenings(openings, silentLogger)
    const place = () => kept.placeFor(file, process.execPath)
    const before = await place()
    expect(await place()).toBe(before)
    await writeTinyModel(file, { chatTemplate, seed: 2 })
    expect(await place()).not.toBe(before)
    expect(await kept.placeFor(join(folder, 'missing'), process.execPath)).toBeUndefined()
  })

  it('is kept of the models that were computed last', async () => {
    const kept = new KeptOpenings(openings, silentLogger)
    for (let model = 0; model < 20; model++) {
      await kept.keep(join(openings, String(model)), (draft) => writeFile(draft, 'x'))
    }
    expect(await readdir(openings)).toHaveLength(16)
    expect(await readdir(openings)).toContain('19')
  })
})
