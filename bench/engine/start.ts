/**
 * How long a sleeping engine takes: from the start of its process, when the answer is asked for, to the answer's first
 * byte and to its only token, with its processor time, and what it holds when it is idle afterwards.
 * `sluice serve` beside servers that are on this machine:
 * `node bench/engine/start.ts MODEL.gguf [--rounds 5] [--cold] [--llama-server PATH] [--ollama PATH]`. They take turns.
 * `--cold` drops the file from the page cache before each start.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort, withChildren } from '../gateway/pinned-process.ts'
import { median } from '../gateway/statistics.ts'
import { residentBytes } from '../process-use.ts'

const sluice = fileURLToPath(new URL('../../bin/sluice', import.meta.url))
const deadlineMs = 120_000
/** Asking more often would be a part of what is measured. */
const pauseMs = 20
/** After this long nobody does any more work for the start. */
const idleMs = 2_000
const ticksPerSecond = 100

interface Contestant {
  readonly name: string
  start(port: number): ChildProcess
}

interface Measured {
  readonly wallMs: number
  readonly firstByteMs: number
  readonly cpuMs: number
  readonly residentMiB: number
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    cold: { type: 'boolean', default: false },
    'llama-server': { type: 'string' },
    ollama: { type: 'string' },
  },
})
const [given] = positionals
if (given === undefined) throw new Error('Usage: node bench/engine/start.ts MODEL.gguf [--rounds 5] [--cold] …')
const model = resolve(given)
const folder = mkdtempSync(join(tmpdir(), 'sluice-start-'))
const quiet = { stdio: 'ignore' as const }
/** What engines keep between starts. */
const kept = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled'), SLUICE_OPENINGS: join(folder, 'openings') }

const contestants: Contestant[] = [
  {
    name: 'sluice',
    start: (port) =>
      spawn(sluice, ['serve', model, '--port', String(port), '--served-model-name', 'm'], { ...quiet, env: kept }),
  },
]
const llamaServer = values['llama-server']
if (llamaServer !== undefined) {
  contestants.push({
    name: 'llama-server',
    start: (port) => spawn(llamaServer, ['-m', model, '--port', String(port), '-np', '8', '-c', '32768'], quiet),
  })
}
if (values.ollama !== undefined) contestants.push(await ollama(values.ollama))

try {
  // Not counted: it fills the caches of compiled code and of files.
  for (const contestant of contestants) await measure(contestant)
  const results = new Map(contestants.map(({ name }) => [name, [] as Measured[]]))
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const contestant of contestants) results.get(contestant.name)?.push(await measure(contestant))
  }
  console.log(
    'median of rounds'.padEnd(20),
    'wall ms'.padStart(10),
    'first byte ms'.padStart(14),
    'processor ms'.padStart(14),
    'resident MiB'.padStart(14),
  )
  for (const [name, rounds] of results) {
    const shown = (of: (round: Measured) => number) => median(rounds.map(of)).toFixed(0)
    console.log(
      name.padEnd(20),
      shown(({ wallMs }) => wallMs).padStart(10),
      shown(({ firstByteMs }) => firstByteMs).padStart(14),
      shown(({ cpuMs }) => cpuMs).padStart(14),
      shown(({ residentMiB }) => residentMiB).padStart(14),
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measure(contestant: Contestant): Promise<Measured> {
  if (values.cold) dropFromPageCache()
  const port = await freePort()
  const startedAt = performance.now()
  const child = contestant.start(port)
  try {
    const firstByteAt = await firstToken(port, child)
    const [wallMs, firstByteMs] = [performance.now() - startedAt, firstByteAt - startedAt]
    const cpuMs = sum(withChildren(child.pid ?? 0).map(cpuMsOf))
    await new Promise((resolve) => setTimeout(resolve, idleMs))
    const residentMiB = sum(withChildren(child.pid ?? 0).map(residentBytes)) / 2 ** 20
    return { wallMs, firstByteMs, cpuMs, residentMiB }
  } finally {
    child.kill('SIGTERM')
    if (!hasEnded(child)) await once(child, 'exit')
  }
}

/** When the first byte of a streamed answer came. Returns when its only token did. */
async function firstToken(port: number, child: ChildProcess): Promise<number> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model: 'm', messages, max_tokens: 1, stream: true })
  const headers = { 'content-type': 'application/json' }
  const until = performance.now() + deadlineMs
  while (performance.now() < until) {
    if (hasEnded(child)) throw new Error(`${child.spawnfile} ended with ${child.exitCode ?? child.signalCode}`)
    const asked = fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', headers, body })
    const answer = await asked.then(readStream, () => undefined)
    if (answer?.complete) return answer.firstByteAt
    await new Promise((done) => setTimeout(done, pauseMs))
  }
  throw new Error(`${child.spawnfile} did not answer in time`)
}

async function readStream(response: Response): Promise<{ firstByteAt: number; complete: boolean }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const first = await reader?.read()
  const firstByteAt = performance.now()
  let text = first?.value ?? ''
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  return { firstByteAt, complete: response.ok && text.includes('[DONE]') }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** Ollama with the same file, imported beforehand under the name `m`. */
async function ollama(program: string): Promise<Contestant> {
  const home = join(folder, 'ollama')
  const serve = (port: number) =>
    spawn(program, ['serve'], { ...quiet, env: { ...process.env, HOME: home, OLLAMA_HOST: `127.0.0.1:${port}` } })
  const port = await freePort()
  const server = serve(port)
  const recipe = join(folder, 'Modelfile')
  writeFileSync(recipe, `FROM ${model}\n`)
  const env = { ...process.env, HOME: home, OLLAMA_HOST: `127.0.0.1:${port}` }
  const until = performance.now() + deadlineMs
  while (spawnSync(program, ['create', 'm', '-f', recipe], { ...quiet, env }).status !== 0) {
    if (performance.now() > until) throw new Error('ollama does not take the model')
  }
  server.kill('SIGTERM')
  await once(server, 'exit')
  return { name: 'ollama', start: serve }
}

function dropFromPageCache(): void {
  spawnSync('dd', [`if=${model}`, 'iflag=nocache', 'count=0'], quiet)
}

/** With the time of children that have ended. */
function cpuMsOf(pid: number): number {
  const stat = read(pid, 'stat')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (sum(fields.slice(11, 15).map(Number)) / ticksPerSecond) * 1000
}

function read(pid: number, name: string): string {
  return readFileSync(`/proc/${pid}/${name}`, 'utf8')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
