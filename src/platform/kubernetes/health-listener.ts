import * as http from 'node:http'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { type Listening, listenOn } from '../listen.ts'

export interface HealthListenerOptions {
  readonly host: string
  readonly port: number
  /** Why this program is not ready; undefined when it is. */
  readonly obstacle: () => string | undefined
  readonly metrics: Metrics
  readonly log: Logger
}

const mostConnections = 64
const requestMs = 5_000

/** Where a cluster asks a role how it is: `/healthz`, `/readyz` and `/metrics`, away from what people use. */
export class HealthListener implements Component {
  readonly name = 'health'
  readonly #options: HealthListenerOptions
  readonly #server: http.Server
  #listening: Listening | undefined

  constructor(options: HealthListenerOptions) {
    this.#options = options
    const limits = { requestTimeout: requestMs, headersTimeout: requestMs, maxHeaderSize: 8 * 1024 }
    this.#server = http.createServer(limits, (request, response) => {
      void this.#answer(request.method ?? '', request.url ?? '').then(({ status, text, type }) => {
        response.writeHead(status, { 'content-type': type ?? 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
        response.end(request.method === 'HEAD' ? undefined : text)
      })
    })
    this.#server.maxConnections = mostConnections
  }

  get port(): number {
    return this.#listening?.port ?? 0
  }

  async start(): Promise<void> {
    const { host, port, log } = this.#options
    this.#listening = await listenOn(
      { listen: (at, wanted) => this.#listen(at, wanted) },
      { name: 'health', flag: '--health-port', host, port },
    )
    this.#server.on('error', (error) => log.error({ err: error }, 'the listening socket failed'))
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #listen(host: string, port: number): Promise<Listening> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        const address = this.#server.address()
        resolve({ host, port: typeof address === 'object' && address !== null ? address.port : port })
      })
    })
  }

  async #answer(method: string, url: string): Promise<{ status: number; text: string; type?: string }> {
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'only GET is answered here\n' }
    const path = url.split('?')[0]
    if (path === '/healthz') return { status: 200, text: 'ok\n' }
    if (path === '/readyz') {
      const obstacle = this.#options.obstacle()
      return obstacle === undefined ? { status: 200, text: 'ok\n' } : { status: 503, text: `${obstacle}\n` }
    }
    if (path !== '/metrics') return { status: 404, text: 'there are /healthz, /readyz and /metrics\n' }
    const { metrics, log } = this.#options
    try {
      return { status: 200, text: await metrics.text(), type: metrics.contentType }
    } catch (error) {
      log.error({ err: error }, 'the metrics could not be read')
      return { status: 500, text: 'the metrics could not be read; the log says why\n' }
    }
  }
}
