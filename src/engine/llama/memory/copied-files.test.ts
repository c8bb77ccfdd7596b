import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import { createLogger } from '../../../foundation/log.ts'
import { writeTinyModel } from '../../models/tiny-model.ts'
import { type RunningEngine, startEngine } from '../../serve.ts'
import { residentKiB } from '../../test-support/resident-file.fixture.ts'
import { post } from '../../test-support/test-engine.fixture.ts'

// In this process is more than a tiny model's size, so the engine takes it for copied.
describe('a model that was copied', () => {
  let folder: string
  let file: string
  let engine: RunningEngine
  const clock = new FakeClock()
  const letGo = { times: 0 }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-copied-'))
    file = join(folder, 'tiny.gguf')
    await writeTinyModel(file)
    const destination = {
      write(line: string) {
        if (line.includes('none of their pages')) letGo.times += 1
      },
    }
    const log = createLogger({ destination, level: 'debug' })
    const options = { modelPath: file, servedModelName: 'tiny', host: '127.0.0.1', port: 0, threads: 1 }
    engine = await startEngine(options, { log, clock, environment: {} })
    await engine.ready
  })
  afterEach(async () => {
    await engine.stop(0)
    await rm(folder, { recursive: true })
  })

  /** A client has its answer a little sooner than the engine is idle. */
  const idle = async (signal: AbortSignal) => {
    const before = letGo.times
    while (letGo.times === before && !signal.aborted) await clock.advance(1_000)
  }

  it('is held once: its file is let go of after the start, and after each time of use', async ({ signal }) => {
    expect(await residentKiB(file)).toBeGreaterThan(0)
    await idle(signal)
    expect(await residentKiB(file)).toBe(0)
    for (const path of ['/v1/completions', '/v1/embeddings']) {
      const asked = { model: 'tiny', temperature: 0, max_tokens: 5 }
      const answer = await post(engine, path, { ...asked, [path.endsWith('embeddings') ? 'input' : 'prompt']: 'why' })
      expect(answer.status).toBe(200)
      await answer.text()
      expect(await residentKiB(file)).toBeGreaterThan(0)
      await idle(signal)
      expect(await residentKiB(file)).toBe(0)
    }
  })
})
