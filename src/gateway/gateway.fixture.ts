import * as http from 'node:http'
import { onTestFinished } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { createLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { Model } from '../resources/model.ts'
import type { Pod } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'
import { FakeCache, fakeModel, fakePod } from '../traffic/cluster-view.fixture.ts'
import { ClusterModelCatalog } from '../traffic/model-catalog.ts'
import { PodPool } from '../traffic/pod-pool.ts'
import type { TrafficSettings } from '../traffic/traffic-settings.ts'
import { Gateway, type GatewayOptions } from './gateway.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

export type UpstreamAnswer = (request: ReceivedRequest, response: http.ServerResponse) => void

/** A model's server on loopback. */
export async function startUpstream(answer: UpstreamAnswer) {
  const received: ReceivedRequest[] = []
  const server = http.createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one = { method, url, headers, body: Buffer.concat(pieces) }
      if (url !== '/health') received.push(one)
      if (url === '/health') response.end('ok')
      else answer(one, response)
    })
  })
  // A client that comes while the queue is full waits for seconds until it tries again.
  const place = { port: 0, host: '127.0.0.1', backlog: 4096 }
  await new Promise<void>((resolve) => server.listen(place, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { server, received, port: address.port }
}

export interface SetUpOptions {
  readonly gateway?: Partial<GatewayOptions>
  readonly traffic?: Partial<TrafficSettings>
  readonly models?: readonly Model[]
  /** What the cluster tells when it is asked for its newest Models. */
  readonly catchUp?: (models: FakeCache<Model>) => Promise<void>
}

type LogLine = Readonly<Record<string, unknown>>

function parseLine(line: string): LogLine {
  const value: unknown = JSON.parse(line)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** A gateway on loopback over a cluster that the test fills by hand. Its time moves by hand too. */
export async function startGateway(options: SetUpOptions = {}) {
  const clock = new FakeClock()
  const pods = new FakeCache<Pod>()
  const models = new FakeCache<Model>()
  for (const model of options.models ?? [fakeModel('tiny')]) models.put(model)
  const secrets = new FakeCache<Secret>()
  const lines: LogLine[] = []
  const log = createLogger({
    level: 'debug',
    destination: { write: (line) => void lines.push(parseLine(line)) },
  })
  const metrics = new Metrics()
  const settings = options.traffic ?? {}
  const pool = new PodPool({ namespace: 'sluice', pods, models, secrets, clock, log, metrics, settings })
  const catalog = new ClusterModelCatalog({
    models,
    namespace: 'sluice',
    catchUp: async () => options.catchUp?.(models),
  })
  const gateway = new Gateway({ catalog, pool, log, clock, metrics, ...options.gateway })
  const { port } = await gateway.listen('127.0.0.1', 0)
  onTestFinished(async () => {
    pool.stop()
    await gateway.close({ graceMs: 0 })
  })
  const addPod = (name: string, upstreamPort: number, model = 'tiny') =>
    pods.put(fakePod(name, { host: '127.0.0.1', port: upstreamPort, model }))
  const requestLines = () => lines.filter(({ msg }) => msg === 'request')
  return {
    clock,
    pods,
    models,
    secrets,
    pool,
    gateway,
    metrics,
    port,
    url: `http://127.0.0.1:${port}`,
    addPod,
    requestLines,
  }
}

export function postJson(
  url: string,
  body: unknown,
  init: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { headers, ...rest } = init
  return fetch(url, {
    method: 'POST',
    body: text,
    ...rest,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

/** Resolves when the condition holds; it is looked at whenever something may have happened. */
export async function until(condition: () => boolean): Promise<void> {
  // Just before the test's own deadline, so that what never happened is named.
  const giveUpAt = Date.now() + 50_000
  while (!condition()) {
    if (Date.now() > giveUpAt) throw new Error(`never happened: ${condition.toString()}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
