import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../foundation/log.ts'
import { version } from '../version.ts'

const deadlineMs = 60_000
const mainProgram = fileURLToPath(new URL('../../../bin/sluice.mjs', import.meta.url))

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
  const mark = join(folder, `built-engine-${version}`)
  if (existsSync(mark)) return
  // Its whole program is one file (decision 0024), which is compiled before it looks at its flags.
  const child = spawn(process.execPath, [mainProgram, 'serve', '--help'], {
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
