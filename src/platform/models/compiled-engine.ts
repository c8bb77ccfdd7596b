import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import type { Logger } from '../../foundation/log.ts'
import { version } from '../version.ts'

const deadlineMs = 60_000
const engine = new URL('../../engine/serve.ts', import.meta.url).href

/** Where engines find what was compiled of them; they cannot write there. `undefined` where nothing is kept. */
export function compiledFolder(): string | undefined {
  const folder = getCompileCacheDir()
  return folder === undefined ? undefined : dirname(folder)
}

/**
 * Compiles what an engine is made of, once for each version of it, so that engines start faster. In a process of its
 * own, which has no other effect: engines themselves run in Pods, whose users could leave something else there for all
 * others.
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
