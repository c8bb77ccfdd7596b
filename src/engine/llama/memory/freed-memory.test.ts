import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as Koffi from 'koffi'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../../foundation/fake-clock.ts'
import { createLogger } from '../../../foundation/log.ts'
import { writeTinyModel } from '../../models/tiny-model.ts'
import { startEngine } from '../../serve.ts'
import { post } from '../../test-support/test-engine.fixture.ts'
import { readyToGiveBack } from './freed-memory.ts'

const pieces = 1024
const pieceBytes = 64 * 1024

/** Memory of which every sixteenth piece is still used, so that freeing the others leaves holes. */
function memoryWithHoles() {
  const koffi: typeof Koffi = createRequire(import.meta.url)('koffi')
  const c = koffi.load(null)
  const allocate = c.func('uintptr_t malloc(size_t bytes)')
  const fill = c.func('void memset(uintptr_t address, int value, size_t bytes)')
  const free = c.func('void free(uintptr_t address)')
  const addresses = Array.from({ length: pieces }, () => allocate(pieceBytes))
  for (const address of addresses) fill(address, 1, pieceBytes)
  const isKept = (index: number) => index % 16 === 0
  addresses.filter((_, index) => !isKept(index)).forEach((address) => free(address))
  return { free: () => addresses.filter((_, index) => isKept(index)).forEach((address) => free(address)) }
}

describe('memory that was freed', () => {
  it('goes back to the machine, also from between pieces that are still used', () => {
    const holes = memoryWithHoles()
    onTestFinished(() => holes.free())
    const giveBack = readyToGiveBack()
    const before = process.memoryUsage.rss()
    giveBack()
    expect(before - process.memoryUsage.rss()).toBeGreaterThan((pieces * pieceBytes) / 2)
  })

  it('goes back each time an engine has been at rest for a while', async ({ signal }) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-freed-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const modelPath = join(folder, 'tiny.gguf')
    await writeTinyModel(modelPath)
    const clock = new FakeClock()
    const given: number[] = []
    const write = (line: string) => {
      const { msg, bytes } = JSON.parse(line)
      if (msg === 'memory that was freed is given back') given.push(bytes)
    }
    const log = createLogger({ destination: { write }, level: 'debug' })
    const options = { modelPath, servedModelName: 'tiny', host: '127.0.0.1', port: 0, threads: 1 }
    const engine = await startEngine(options, { log, clock, environment: {} })
    onTestFinished(() => engine.stop(0))
    await engine.ready
    for (const times of [1, 2]) {
      const answer = await post(engine, '/v1/completions', { model: 'tiny', prompt: 'why', max_tokens: 5 })
      expect(answer.status).toBe(200)
      await answer.text()
      const holes = memoryWithHoles()
      onTestFinished(() => holes.free())
      await clock.advance(60_000)
      expect(given).toHaveLength(times - 1)
      // A client has its answer a little sooner than the engine is idle.
      while (given.length < times && !signal.aborted) await clock.advance(1_000)
      expect(given.at(-1)).toBeGreaterThan((pieces * pieceBytes) / 2)
    }
  })
})
