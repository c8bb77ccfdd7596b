import { SluiceError } from '../../foundation/errors.ts'
import { Metrics } from '../../foundation/metrics.ts'
import type { Answer, Exchange } from '../../relay/exchange.ts'

export interface EdgeHealthOptions {
  readonly isStopping: () => boolean
  readonly metrics?: Metrics | undefined
  /** The answer to `/metrics`, if it has more than this edge's own metrics. */
  readonly metricsText?: (() => Promise<string>) | undefined
}

const thisMachine = /^(?:127\.[\d.]+|::1)$/

/** Health and metrics of the edge, at hosts that nobody can expose. Metrics are shown to this machine only. */
export class EdgeHealth {
  readonly #options: EdgeHealthOptions

  constructor(options: EdgeHealthOptions) {
    this.#options = options
  }

  answer({ head, client }: Pick<Exchange, 'head' | 'client'>): Answer | Promise<Answer> {
    if (head.method !== 'GET' && head.method !== 'HEAD') throw new SluiceError('host_not_exposed')
    if (head.path === '/healthz') return text(200, 'ok\n')
    if (head.path === '/readyz') return this.#options.isStopping() ? text(503, 'stopping\n') : text(200, 'ok\n')
    if (head.path === '/metrics' && thisMachine.test(client.address)) return this.#numbers()
    throw new SluiceError('host_not_exposed')
  }

  async #numbers(): Promise<Answer> {
    const { metrics = new Metrics(), metricsText = () => metrics.text() } = this.#options
    return text(200, await metricsText(), metrics.contentType)
  }
}

function text(status: number, body: string, contentType = 'text/plain; charset=utf-8'): Answer {
  const headers = [
    ['content-type', contentType],
    ['cache-control', 'no-store'],
  ] as const
  return { status, headers, body }
}
