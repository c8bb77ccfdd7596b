import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enginePlace } from '../bin/built-engine.mjs'
import { buildEngine } from '../scripts/build-engine.ts'

const compiling = fileURLToPath(new URL('../src/platform/models/compiled-engine.ts', import.meta.url))
/** Only for one that hangs: a busy machine takes long to start a process. */
const deadlineMs = 180_000
const cache = mkdtempSync(join(tmpdir(), 'sluice-compiled-engine-'))
afterAll(() => rmSync(cache, { recursive: true }))

describe('compiling the engine ahead', () => {
  beforeAll(() => buildEngine(), deadlineMs)

  it(
    'keeps what V8 compiled until it had answered, once',
    () => {
      const compile = () => {
        const program = `const { compileEngine } = await import(${JSON.stringify(compiling)})
          await compileEngine({ debug: console.error }, AbortSignal.timeout(${deadlineMs}))`
        const words = ['--input-type=module', '-e', program]
        const { stderr } = spawnSync(process.execPath, words, { env: { ...process.env, NODE_COMPILE_CACHE: cache } })
        expect(stderr.toString()).toBe('')
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
})
