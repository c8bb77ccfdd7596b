import * as http from 'node:http'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { createLogger, silentLogger } from '../../foundation/log.ts'
import { Metrics, type MetricsSnapshot } from '../../foundation/metrics.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import type { Model } from '../../resources/model.ts'
import type { Pod } from '../../resources/pod.ts'
import { FakeCache, fakeModel } from '../../traffic/cluster-view.fixture.ts'
import { LoadTable } from '../../traffic/endpoints/load-table.ts'
import { PodPool } from '../../traffic/pod-pool.ts'
import type { ServedGateway } from './serving-messages.ts'
import { ServingThread } from './serving-thread.ts'
import { type ExposureToServe, type ServingNews, ServingThreads } from './serving-threads.ts'

interface Wanted {
  /** By default 2. */
  readonly count?: number
  readonly requireApiKeys?: boolean
  readonly exposure?: ExposureToServe
  readonly chatPageDirectory?: string
  /** What the cluster tells when it is asked for its newest Models. */
  readonly catchUp?: (models: FakeCache<Model>) => Promise<void>
}

/** Serving threads for a cluster that the test fills by hand. It starts with the Model `tiny`. */
export async function startThreads(options: Wanted = {}) {
  const { count = 2, exposure } = options
  const pods = new FakeCache<Pod>()
  const models = new FakeCache<Model>()
  const keys = new FakeCache<ApiKey>()
  models.put(fakeModel('tiny'))
  const metrics = new Metrics()
  const clock = systemClock
  const loads = LoadTable.shared({ workers: count, epochMs: clock.now() - 1_000 })
  const settings: ServedGateway = {
    namespace: 'sluice',
    wakeDeadlineMs: 60_000,
    requireApiKeys: options.requireApiKeys ?? false,
    trustedProxies: '',
    bodyLimitBytes: 1024 * 1024,
    heldLimitBytes: 64 * 1024 * 1024,
    chatPageDirectory: options.chatPageDirectory ?? '/nonexistent',
  }
  const pool = new PodPool({
    namespace: 'sluice',
    pods,
    models,
    clock,
    log: silentLogger,
    metrics,
    loads,
    probe: () => Promise.resolve(false),
    settings: { waitingRoomSize: 2_000 },
  })
  const threads: ServingThread[] = []
  const logged: string[] = []
  const news: ServingNews[] = []
  const serving = new ServingThreads({
    count,
    gateway: { settings, loads, pool, models, keys, catchUp: async () => options.catchUp?.(models) },
    exposure,
    logPath: undefined,
    clock,
    log: createLogger({ destination: { write: (line) => void logged.push(line) } }),
    metrics,
    news: (one) => void news.push(one),
    spawn: (of) => {
      const thread = new ServingThread(of)
      threads.push(thread)
      return thread
    },
  })
  const { port } = await serving.listen('gateway', '127.0.0.1', 0)
  onTestFinished(async () => {
    pool.stop()
    await serving.close({ graceMs: 0 })
  })
  const url = `http://127.0.0.1:${port}`
  return { pods, models, keys, pool, metrics, serving, threads, logged, news, port, url }
}

/** How many requests a thread has finished. */
export function requestsOf(snapshot: MetricsSnapshot | undefined): number {
  const metric = snapshot?.find(({ name }) => name === 'sluice_gateway_requests_total')
  return metric?.values.reduce((sum, { value }) => sum + value, 0) ?? 0
}

export interface Answer {
  readonly status: number
  readonly body: string
}

export interface Asking {
  /** Resolves with the whole answer; rejects if the connection breaks. */
  readonly answer: Promise<Answer>
  /** What has arrived so far. */
  readonly received: () => string
  leave(): void
}

/** Sends a request on its own connection: connections are what the threads share among them. */
export function ask(port: number, body: object = {}, headers: Record<string, string> = {}): Asking {
  let text = ''
  const answer = Promise.withResolvers<Answer>()
  const request = http.request(
    {
      host: '127.0.0.1',
      port,
      path: '/openai/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      agent: false,
    },
    (response) => {
      response.setEncoding('utf8')
      response.on('data', (piece: string) => (text += piece))
      response.on('end', () => answer.resolve({ status: response.statusCode ?? 0, body: text }))
      response.on('error', answer.reject)
    },
  )
  request.on('error', answer.reject)
  request.end(JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'hello' }], ...body }))
  return { answer: answer.promise, received: () => text, leave: () => request.destroy() }
}

/** Resolves when the condition holds. Checks it every two milliseconds, and gives up after fifteen seconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 15_000
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`never happened: ${holds.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
