import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { createLogger, silentLogger } from '../../foundation/log.ts'
import { type Proof, chooseGpuBuild, lastWords, probeGpuBuild, proveInChild } from './gpu-probe.ts'
import type { GpuBuild } from './gpu-probe-builds.ts'
import { GpuProbeMemory } from './gpu-probe-memory.ts'

const never = new AbortController().signal
const child = (code: string) => [process.execPath, '-e', code] as const
const prove = (code: string) => proveInChild({ command: child(code), deadlineMs: 30_000, signal: never })

describe('the proof that a GPU build computes', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-probe-test-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('is given by a child that says it has computed, which is ended then', async () => {
    const file = join(folder, 'pid')
    const code = `require('fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); process.send('computed'); setInterval(() => {}, 1000)`
    expect(await prove(code)).toEqual({ works: true })
    const pid = Number(await readFile(file, 'utf8'))
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false)
  })

  it('fails with the last words of a child that aborts', async () => {
    const words = [
      'CUDA error: the provided PTX was compiled with an unsupported toolchain.',
      '  current device: 0, in function mul_mat',
      'ggml-cuda.cu:108: CUDA error',
    ]
    const code = `console.log(${JSON.stringify(words.join('\n'))}); process.abort()`
    expect(await prove(code)).toEqual({
      works: false,
      reason: 'CUDA error: the provided PTX was compiled with an unsupported toolchain.',
    })
  })

  it('fails when the child ends without having computed, even well', async () => {
    expect(await prove('')).toEqual({ works: false, reason: 'it ended with exit code 0' })
    expect(await prove("process.kill(process.pid, 'SIGKILL')")).toEqual({
      works: false,
      reason: 'it was ended by SIGKILL',
    })
  })

  it('fails when no child can be started', async () => {
    const command = [join(folder, 'no-such-program')] as const
    const proof = await proveInChild({ command, deadlineMs: 1000, signal: never })
    expect(proof).toMatchObject({ works: false, reason: expect.stringContaining('ENOENT') })
  })

  it('fails at the deadline, and the child that hangs is killed', async () => {
    const clock = new FakeClock()
    const file = join(folder, 'pid')
    const code = `process.on('SIGTERM', () => {}); require('fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`
    const proof = proveInChild({ command: child(code), deadlineMs: 60_000, signal: never, clock })
    await expect.poll(() => readFile(file, 'utf8').catch(() => '')).not.toBe('')
    await clock.advance(60_000)
    expect(await proof).toEqual({ works: false, reason: 'it computed nothing within 60 s' })
    await expect.poll(async () => existsSync(`/proc/${await readFile(file, 'utf8')}`)).toBe(false)
  })

  it('ends with the start that asked for it', async () => {
    const stop = new AbortController()
    const proof = proveInChild({
      command: child('setInterval(() => {}, 1000)'),
      deadlineMs: 30_000,
      signal: stop.signal,
    })
    stop.abort(new Error('stopping'))
    await expect(proof).rejects.toThrow('stopping')
  })

  it('says of a build that is not there what is missing', async () => {
    expect(await probeGpuBuild('metal', never)).toEqual({
      works: false,
      reason: 'metal is not a GPU build; there are cuda, cuda-fallback, vulkan',
    })
  })
})

describe('last words', () => {
  it.each([
    ['ready\nCUDA error: no kernel image\nfile.cu:1: CUDA error\n', 'CUDA error: no kernel image'],
    ['error: it cannot be loaded here\n', 'it cannot be loaded here'],
    ['ggml_vulkan: failed to allocate\nbye\n', 'ggml_vulkan: failed to allocate'],
    ['one\n\n  two  \n', 'two'],
    ['\n', undefined],
  ])('of %j', (output, words) => expect(lastWords(output)).toBe(words))
})

describe('the choice of a GPU build', () => {
  const builds: readonly GpuBuild[] = [
    { name: 'cuda', gpu: 'cuda', needs: 'driver 590' },
    { name: 'cuda-fallback', gpu: 'cuda', needs: 'CUDA 12' },
    { name: 'vulkan', gpu: 'vulkan', needs: 'libvulkan' },
  ]
  const proving = (working: readonly string[], asked: string[] = []) => ({
    asked,
    prove: async (name: string): Promise<Proof> => {
      asked.push(name)
      return working.includes(name) ? { works: true } : { works: false, reason: `${name} error` }
    },
  })

  it('takes the first that computes and says why the ones before it do not', async () => {
    const lines: string[] = []
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } })
    const { prove, asked } = proving(['cuda-fallback', 'vulkan'])
    expect((await chooseGpuBuild({ builds, remembered: undefined, prove, log }))?.name).toBe('cuda-fallback')
    expect(asked).toEqual(['cuda', 'cuda-fallback'])
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ level: 'warn', build: 'cuda', reason: 'cuda error', needs: 'driver 590' }),
    ])
  })

  it('takes none, and so the CPU, when none computes', async () => {
    const { prove, asked } = proving([])
    expect(await chooseGpuBuild({ builds, remembered: undefined, prove, log: silentLogger })).toBeUndefined()
    expect(asked).toEqual(['cuda', 'cuda-fallback', 'vulkan'])
  })

  it('asks for no proof of what has computed before, unless it is gone', async () => {
    const { prove, asked } = proving(['vulkan'])
    const choose = (remembered: string, of = builds) =>
      chooseGpuBuild({ builds: of, remembered, prove, log: silentLogger })
    expect((await choose('cuda-fallback'))?.name).toBe('cuda-fallback')
    expect(asked).toEqual([])
    expect((await choose('cuda-fallback', builds.slice(2)))?.name).toBe('vulkan')
    expect(asked).toEqual(['vulkan'])
  })
})

describe('what is remembered of a proof', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-probe-memory-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const memory = (circumstances: string) => new GpuProbeMemory(join(folder, 'cache/proofs.json'), circumstances)

  it('holds for the same circumstances only, and until it is taken', async () => {
    await memory('this driver').keep('cuda')
    expect(await memory('another driver').take()).toBeUndefined()
    expect(await memory('this driver').take()).toBe('cuda')
    // The process that took the entry may have been aborted; only a model that has computed writes it back.
    expect(await memory('this driver').take()).toBeUndefined()
  })

  it('is nothing where the file is broken or cannot be written', async () => {
    await memory('a').keep('cuda')
    await writeFile(join(folder, 'cache/proofs.json'), '{')
    expect(await memory('a').take()).toBeUndefined()
    const unwritable = new GpuProbeMemory(join(folder, 'cache/proofs.json/below'), 'a')
    await unwritable.keep('cuda')
    expect(await unwritable.take()).toBeUndefined()
  })

  it('does not grow with every start of the machine', async () => {
    for (let boot = 0; boot < 70; boot += 1) await memory(`boot ${boot}`).keep('vulkan')
    expect(await memory('boot 5').take()).toBeUndefined()
    expect(await memory('boot 69').take()).toBe('vulkan')
  })
})
