import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { pullModel } from '../../engine/models/model-pull.ts'
import { abortReason } from '../../foundation/clock.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { DemoModelFetch } from './demo-model-fetch.ts'
import { modelDirectory } from './model-storage.ts'

const gguf = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(60)])

describe('the fetch of the demo model', () => {
  let dataDirectory: string
  let clock: FakeClock
  let told: string[]
  beforeEach(() => {
    dataDirectory = mkdtempSync(join(tmpdir(), 'sluice-fetch-'))
    clock = new FakeClock()
    told = []
  })
  afterEach(() => rmSync(dataDirectory, { recursive: true, force: true }))

  const fetchWith = (pull: typeof pullModel) =>
    new DemoModelFetch({
      name: 'm',
      dataDirectory,
      tell: (message) => told.push(message),
      clock,
      log: silentLogger,
      pull,
    })
  const status = (fetch: DemoModelFetch) => fetch.status('userdata', 'models/m')
  const putFile = () => writeFileSync(join(modelDirectory(dataDirectory, 'm'), 'mine.gguf'), gguf)

  it('tells of its failure once, tries again ever less often, and says when the model is there', async () => {
    let tries = 0
    const fetch = fetchWith(() => Promise.reject(new Error(`no network (${(tries += 1)})`)))
    fetch.start()
    await expect.poll(() => told).toEqual(['no network (1) It is tried again meanwhile.'])
    await clock.advance(30_000)
    await expect.poll(() => tries).toBe(2)
    await clock.advance(30_000)
    expect(tries).toBe(2)
    expect(status(fetch)).toEqual({ message: 'no network (2)', pending: false })
    putFile()
    await clock.advance(1_000)
    await expect.poll(() => told.at(-1)).toBe('The model m is there now.')
    expect(status(fetch)).toBeUndefined()
    await fetch.stop()
  })

  it('ends when somebody puts a file there, so that there are never two', async () => {
    const aborted = Promise.withResolvers<void>()
    const fetch = fetchWith(({ signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.resolve()
          reject(abortReason(signal))
        })
      })
    })
    fetch.start()
    await expect.poll(() => existsSync(modelDirectory(dataDirectory, 'm'))).toBe(true)
    expect(status(fetch)?.pending).toBe(true)
    await clock.advance(1_000)
    putFile()
    await clock.advance(1_000)
    await aborted.promise
    await expect.poll(() => status(fetch)).toBeUndefined()
    expect(told).toEqual([])
    await fetch.stop()
  })
})
