import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { tinyPlainTemplate, writeTinyModel } from '../../engine/models/tiny-model.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { mainProgram } from '../images/own-program.ts'
import { version } from '../version.ts'

const deadlineMs = 60_000
const engineProgram = fileURLToPath(new URL('../../../bin/dist/engine.cjs', import.meta.url))
/** Its input ends with the process that started it, even if that was killed; nobody else tidies up then. */
const endWithInput = `
  import { rmSync } from 'node:fs'
  const end = () => {
    rmSync(process.env.SLUICE_OPENINGS, { recursive: true, force: true })
    process.exit(1)
  }
  process.stdin.on('end', end).resume().unref()`

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
export async function compileEngine(log: Logger, stop: AbortSignal): Promise<void> {
  const folder = getCompileCacheDir()
  if (folder === undefined) return
  const mark = join(folder, 'compiled-engine')
  const signal = AbortSignal.any([stop, AbortSignal.timeout(deadlineMs)])
  try {
    const made = `${version} ${statSync(engineProgram, { throwIfNoEntry: false })?.mtimeMs}`
    if (textOf(mark) === made) return
    await answerOnce(dirname(folder), log, signal)
    writeFileSync(mark, made)
  } catch (error) {
    log.debug({ reason: errorMessage(error) }, 'the engine was not compiled ahead')
  }
}

/** Of a program, V8 compiles what is called: so an engine starts, answers and ends, with the smallest of all models. */
async function answerOnce(folder: string, log: Logger, signal: AbortSignal): Promise<void> {
  const models = await mkdtemp(join(tmpdir(), 'sluice-compile-'))
  try {
    const model = join(models, 'tiny.gguf')
    await writeTinyModel(model, { chatTemplate: tinyPlainTemplate })
    const first = `data:text/javascript,${encodeURIComponent(endWithInput)}`
    const words = [mainProgram, 'serve', model, '--port', '0', '--threads', '1']
    const engine = spawn(process.execPath, ['--import', first, ...words], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: folder, CUDA_VISIBLE_DEVICES: '', SLUICE_OPENINGS: models },
      stdio: ['pipe', 'ignore', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    })
    const exited = once(engine, 'exit')
    exited.catch(() => {})
    try {
      const url = await addressOf(engine)
      log.debug({ url }, 'an engine answers, so that its code is compiled ahead')
      await ask(url, model, signal)
    } finally {
      engine.kill('SIGTERM')
    }
    const [code] = await exited
    if (code !== 0) throw new Error(`the engine ended with ${code}`)
  } finally {
    await rm(models, { recursive: true, force: true })
  }
}

/** Of an engine that can answer. */
async function addressOf(engine: ChildProcess): Promise<string> {
  if (!engine.stderr) throw new Error('its output is not read')
  let url: string | undefined
  for await (const line of createInterface({ input: engine.stderr })) {
    url ??= /"url":"([^"]+)"/.exec(line)?.[1]
    if (url === undefined || !line.includes('the model can answer')) continue
    engine.stderr.resume()
    return url
  }
  throw new Error('the engine ended')
}

async function ask(url: string, model: string, signal: AbortSignal): Promise<void> {
  for (const stream of [true, false]) {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2, stream })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body, signal })
    await answer.text()
    if (!answer.ok) throw new Error(`the engine answered with ${answer.status}`)
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
