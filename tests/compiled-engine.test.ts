import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { enginePlace } from '../bin/built-engine.mjs'
import { buildEngine } from '../scripts/build-engine.ts'
import { isAlive, readProcess, signalProcess } from '../src/node/processes/process-identity.ts'

const compiling = fileURLToPath(new URL('../src/platform/models/compiled-engine.ts', import.meta.url))
/** Only for one that hangs: a busy machine takes long to start a process. */
const deadlineMs = 180_000
/** A process that compiles, and calls `debug` with what it logs. */
const compilerWords = (debug: string) => [
  '--input-type=module',
  '-e',
  `const { compileEngine } = await import(${JSON.stringify(compiling)})
   await compileEngine({ debug: ${debug} }, AbortSignal.timeout(${deadlineMs}))`,
]
const keptIn = (folder: string) => ({ ...process.env, NODE_COMPILE_CACHE: folder })
const cache = mkdtempSync(join(tmpdir(), 'sluice-compiled-engine-'))
afterAll(() => rmSync(cache, { recursive: true }))

describe('compiling the engine ahead', () => {
  beforeAll(() => buildEngine(), deadlineMs)

  it(
    'keeps what V8 compiled until it had answered, once',
    () => {
      const compile = () => {
        const words = compilerWords('(facts, text) => console.log(text, facts)')
        const { stdout, stderr } = spawnSync(process.execPath, words, { env: keptIn(cache) })
        expect(stderr.toString()).toBe('')
        expect(stdout.toString()).not.toContain('not compiled')
        const [folder = ''] = readdirSync(cache)
        return readdirSync(join(cache, folder)).map((name) => join(cache, folder, name))
      }
      const [, digest = ''] = /^\/\/ (\w{64})\n/.exec(readFileSync(enginePlace, 'utf8')) ?? []
      const kept = (files: readonly string[]) => files.filter((file) => file.endsWith(`engine-${digest}`))
      const [place = ''] = kept(compile())
      const first = readFileSync(place)
      // What is compiled before it runs is a half of this.
      expect(first.length).toBeGreaterThan(800_000)
      expect(kept(compile())).toEqual([place])
      expect(readFileSync(place).equals(first)).toBe(true)
    },
    deadlineMs,
  )

  it(
    'leaves no engine behind when it is killed',
    async () => {
      // It goes no further than that.
      const words = compilerWords("(facts, text) => { console.error(text); process.kill(process.pid, 'SIGSTOP') }")
      const compiler = spawn(process.execPath, words, { env: keptIn(join(cache, 'killed')) })
      onTestFinished(() => void compiler.kill('SIGKILL'))
      const exited = once(compiler, 'exit')
      // From now on the engine has nothing to say: else it would end because nobody reads that.
      for await (const line of createInterface({ input: compiler.stderr }))
        if (line.includes('an engine answers')) break
      const engine = readProcess(childOf(compiler.pid) ?? 0)
      if (engine === undefined) throw new Error('the engine has ended')
      const model = readFileSync(`/proc/${engine.pid}/cmdline`, 'utf8')
        .split('\0')
        .find((word) => word.endsWith('.gguf'))
      if (model === undefined) throw new Error('the engine has no model')
      expect(existsSync(model)).toBe(true)
      onTestFinished(() => void signalProcess(engine, 'SIGKILL'))
      compiler.kill('SIGKILL')
      await exited
      await vi.waitUntil(() => !isAlive(engine), { timeout: deadlineMs })
      expect(existsSync(dirname(model))).toBe(false)
    },
    2 * deadlineMs,
  )
})

function childOf(pid: number | undefined): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return Number(child) || undefined
}
