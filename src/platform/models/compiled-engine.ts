import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import type { Logger } from '../../foundation/log.ts'
import { version } from '../version.ts'

const deadlineMs = 60_000
const engine = new URL('../../engine/serve.ts', import.meta.url).href

/** The folder with engines' compiled code, which they can read but not write. `undefined` if none is kept. */
export function compiledFolder(): string | undefined {
  const folder = getCompileCacheDir()
  return folder === undefined ? undefined : dirname(folder)
}

/**
 * Compiles the engine's code once for each version, so that engines start faster. A separate process does it, without
 * any other effect. Engines themselves must not: they run in Pods, whose users could plant other code there for
 * everybody.
 */
export function compileEngine(log: Logger, signal: AbortSignal): void {
  const folder = getCompileCacheDir()
  if (folder === undefined) return
  const mark = join(folder, `engine-${version}`)
  if (existsSync(mark)) return
  const text = `await import(${JSON.stringify(engine)}); process.exit()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: dirname(folder) },
    stdio: 'ignore',
    signal,
    timeout: deadlineMs,
  })
  child.unref()
  child.once('error', (error) => log.debug({ err: error }, 'the engine was not compiled ahead'))
  child.once('exit', (code) => {
    if (code === 0) writeFileSync(mark, '')
  })
}
