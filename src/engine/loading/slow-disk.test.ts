import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tinyPlainTemplate, writeTinyModel } from '../models/tiny-model.ts'
import { SlowDisk, slowDiskMissing } from '../test-support/slow-disk.fixture.ts'

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const megabyte = 1_000_000
const health = z.object({
  phase: z.string(),
  bytes: z.number(),
  totalBytes: z.number(),
  stillSeconds: z.number(),
})

describe.skipIf(slowDiskMissing !== undefined)('an engine whose disk is slow', () => {
  let folder: string
  let disk: SlowDisk
  let engine: ChildProcess | undefined

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-slow-disk-'))
    const file = join(folder, 'whole.gguf')
    await writeTinyModel(file, { chatTemplate: tinyPlainTemplate })
    // llama.cpp reads all of a file that it maps, whatever is in it.
    await appendFile(file, Buffer.alloc(100 * megabyte))
    await mkdir(join(folder, 'disk'))
    disk = new SlowDisk(join(folder, 'disk'), 'model.gguf', file)
  })
  afterEach(async () => {
    engine?.kill('SIGKILL')
    // A process ends only after the read that it waits for.
    disk.allow(Infinity)
    if (engine?.exitCode === null && engine.signalCode === null) await once(engine, 'exit')
    await disk.close()
    await rm(folder, { recursive: true })
  })

  async function startEngine(): Promise<string> {
    const child = spawn(process.execPath, [main, 'serve', join(folder, 'disk/model.gguf'), '--port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    engine = child
    let seen = ''
    return new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the engine ended: ${seen}`)))
      child.stderr.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        const url = /"url":"([^"]+)"/.exec(seen)?.[1]
        if (url !== undefined) resolve(url)
      })
    })
  }

  it('says how much it has read, that nothing comes any more, and then how much again', async () => {
    disk.allow(40 * megabyte)
    const url = await startEngine()
    const told = async () => health.parse(await (await fetch(`${url}/health`)).json())
    const patience = { timeout: 60_000 }
    await expect.poll(async () => (await told()).bytes, patience).toBeGreaterThan(35 * megabyte)
    await expect.poll(async () => (await told()).stillSeconds, patience).toBeGreaterThanOrEqual(2)
    const stuck = await told()
    expect(stuck).toMatchObject({ phase: 'reading' })
    expect(stuck.totalBytes).toBeGreaterThan(100 * megabyte)
    expect(stuck.bytes).toBeLessThan(45 * megabyte)

    disk.allow(80 * megabyte)
    await expect.poll(async () => (await told()).bytes, patience).toBeGreaterThan(75 * megabyte)
    expect((await told()).bytes).toBeLessThan(85 * megabyte)

    disk.allow(Infinity)
    await expect.poll(async () => (await fetch(`${url}/health`)).status, patience).toBe(200)
  })
})
