// What Sluice adds to a wake: from a request for a sleeping model to its process, and from that process's readiness to
// the first byte at the client, with an engine that is ready as soon as it runs.
//   node bench/wake.ts [--times 30] [--load MILLISECONDS]      (--load: the engine answers 503 for so long first)
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { connectKubernetes } from '../src/cluster/kubernetes-client.ts'
import { modelKind } from '../src/resources/model.ts'
import { startSluice } from './contestant.ts'

const { values } = parseArgs({
  options: { times: { type: 'string', default: '30' }, load: { type: 'string', default: '0' } },
})
const namespace = 'sluice'
const card = 'nvidia.com/gpu-l40s'

/**
 * A stub engine that says in every answer when its process began and when it was ready, in milliseconds since the Unix
 * epoch. Like a real engine, it answers one request of its own before it reports that it is ready, so that the cost of
 * a first answer is not counted as Sluice's.
 */
const engine = `
  import { createServer, request } from 'node:http'
  const argument = (name) => process.argv[process.argv.indexOf(name) + 1]
  const now = () => performance.timeOrigin + performance.now()
  const dueAt = now() + ${Number(values.load)}
  const [host, port] = [argument('--host'), Number(argument('--port'))]
  const { FIRST_LINE_AT, SECOND_LINE_AT } = process.env
  const spawnedAt = (2 * Number(FIRST_LINE_AT) - Number(SECOND_LINE_AT)) * 1000
  let readyAt = Infinity
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(now() >= readyAt ? 200 : 503)
    response.end(JSON.stringify({ spawnedAt, readyAt }))
  })
  const proof = () => new Promise((resolve) => {
    request({ host, port, method: 'POST', path: '/v1/chat/completions' }, (answer) => answer.resume().on('end', resolve)).end('{}')
  })
  server.listen(port, host, async () => {
    await proof()
    await proof()
    readyAt = Math.max(now(), dueAt)
  })
`

const data = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
mkdirSync(join(data, 'volumes/userdata/models/stub'), { recursive: true })
writeFileSync(join(data, 'volumes/userdata/models/stub/model.gguf'), 'GGUF'.padEnd(64))
// A shell records the time first, because Node takes longer to start than everything measured here. The shell itself
// takes time to start, too. A second shell in its place shows how much, and the process began that much before the
// first recorded time.
const second = 'SECOND_LINE_AT=$EPOCHREALTIME exec "$0" "$@"'
const first = `FIRST_LINE_AT=$EPOCHREALTIME exec /bin/bash -c '${second}' "$0" "$@"`
const command = ['/bin/bash', '-c', first, process.execPath, '--input-type=module', '-e', engine, '--']
writeFileSync(
  join(data, 'config.yaml'),
  JSON.stringify({ images: { 'registry.local-1.localhost/sluice/llama-cpp': { command } } }),
)

const answerSchema = z.object({ spawnedAt: z.number(), readyAt: z.number() })
const sluice = await startSluice(data, true, ['--gpus', `${card}=4`, '--config', join(data, 'config.yaml')])
try {
  const client = await connectKubernetes(join(data, 'kubeconfig'))
  const { gateway } = z
    .object({ gateway: z.string() })
    .parse(JSON.parse(readFileSync(join(data, 'endpoints.json'), 'utf8')))
  const spawning: number[] = []
  const answering: number[] = []
  const whole: number[] = []
  const rounds = Number(values.times)
  const warmUp = 3
  for (let round = 0; round < rounds + warmUp; round++) {
    const name = `stub-${round}`
    const spec = { url: 'pvc://userdata/models/stub', engine: 'LlamaCpp', resourceProfile: `${card}:1` }
    await client.create(modelKind, { metadata: { name, namespace }, spec })
    await untilKnown(gateway, name)
    const askedAt = now()
    const { firstByteAt, body } = await ask(gateway, name)
    const { spawnedAt, readyAt } = answerSchema.parse(JSON.parse(body))
    if (round >= warmUp) {
      spawning.push(spawnedAt - askedAt)
      answering.push(firstByteAt - readyAt)
      whole.push(firstByteAt - askedAt)
    }
    await client.delete(modelKind, { namespace, name })
  }
  console.log(`${rounds} wakes of a model on an embedded cluster\n`)
  report('request → process spawned', spawning)
  report('engine ready → first byte at the client', answering)
  report('request → first byte', whole)
  console.log('\nto be reached: 10 ms at p50 for the first two')
} finally {
  await sluice.stop()
  rmSync(data, { recursive: true, force: true })
}

function now(): number {
  return performance.timeOrigin + performance.now()
}

async function untilKnown(gateway: string, model: string): Promise<void> {
  const deadline = now() + 10_000
  for (;;) {
    const { status } = await fetch(`${gateway}/openai/v1/models/${model}`)
    if (status === 200) break
    if (now() > deadline) throw new Error(`the gateway does not know ${model}: ${status}`)
  }
  // The operator's first look at the model is not part of the wake, nor is the end of the previous one.
  await new Promise((resolve) => setTimeout(resolve, 500))
}

function ask(gateway: string, model: string): Promise<{ readonly firstByteAt: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${gateway}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const firstByteAt = now()
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => {
        if (response.statusCode === 200) resolve({ firstByteAt, body })
        else reject(new Error(`${response.statusCode}: ${body}`))
      })
    })
    request.end(JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }))
  })
}

function report(what: string, taken: readonly number[]): void {
  const sorted = taken.toSorted((left, right) => left - right)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const [p10, p50, p90, worst] = [0.1, 0.5, 0.9, 1].map((share) => `${at(share).toFixed(1)} ms`.padStart(10))
  console.log(`${what.padEnd(42)}p10 ${p10}   p50 ${p50}   p90 ${p90}   worst ${worst}`)
}
