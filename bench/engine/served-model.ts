import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { benchPrompt } from './raw-loop.ts'

const sluice = fileURLToPath(new URL('../../bin/sluice', import.meta.url))
const startDeadlineMs = 120_000

/** Starts `sluice serve` in its own process, as users do; with as many threads, or as many as it chooses. */
export async function startServedModel(file: string, threads?: number) {
  const chosen = threads === undefined ? [] : ['--threads', String(threads)]
  const flags = ['--port', '0', '--served-model-name', 'bench', ...chosen]
  const child = spawn(sluice, ['serve', file, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
  const url = await addressOf(child.stderr)
  await untilReady(url)
  return {
    url,
    pid: child.pid ?? 0,
    /** The tokens of all requests together, from the first token of any to the last token of any. */
    async tokensPerSecond(requests: number, tokens: number): Promise<number> {
      const times = await Promise.all(Array.from({ length: requests }, () => timeStream(url, tokens + 1)))
      const startedAt = Math.min(...times.map(({ first }) => first))
      const endedAt = Math.max(...times.map(({ last }) => last))
      return (requests * tokens) / ((endedAt - startedAt) / 1000)
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/**
 * The address from the engine's first log line. Later output is read as well, so that the engine never blocks on it.
 */
function addressOf(output: NodeJS.ReadableStream): Promise<string> {
  let seen = ''
  return new Promise((resolve, reject) => {
    output.on('data', (chunk: Buffer) => {
      if (seen.length > 65_536) return
      seen += chunk.toString()
      const url = /"url":"([^"]+)"/.exec(seen)?.[1]
      if (url !== undefined) resolve(url)
    })
    output.on('end', () => reject(new Error(`the engine ended: ${seen}`)))
  })
}

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + startDeadlineMs
  while (performance.now() < deadline) {
    if ((await fetch(`${url}/health`)).ok) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the model was not ready in time')
}

async function timeStream(url: string, tokens: number): Promise<{ first: number; last: number }> {
  const body = {
    model: 'bench',
    prompt: benchPrompt,
    temperature: 0,
    max_tokens: tokens,
    ignore_eos: true,
    stream: true,
  }
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok || !response.body) throw new Error(`the engine answered ${response.status}`)
  let first: number | undefined
  let last = 0
  for await (const _ of response.body) {
    last = performance.now()
    first ??= last
  }
  return { first: first ?? last, last }
}
