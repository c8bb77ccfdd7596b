import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { StatusError } from '../resources/status-error.ts'
import { ApiServerMetrics } from './api-server-metrics.ts'
import { type Authenticator, type Authorizer, type User, allowEverything, credentialOf } from './authentication.ts'
import type { ClusterApi } from './cluster-api.ts'
import { ClusterFace, type RequestLabel } from './cluster-face.ts'
import { HttpExchange } from './http-exchange.ts'
import type { PodAccess } from './pod-access.ts'
import { type RequestUrl, parseRequestUrl } from './request-url.ts'
import { serverVersion } from './server-version.ts'
import { WatchSlots } from './watch-slots.ts'

export interface TlsFiles {
  /** PEM. `ca` is what client certificates are checked against. */
  readonly key: string
  readonly cert: string
  readonly ca: string
}

export interface ApiServerLimits {
  readonly bodyBytes: number
  readonly jsonDepth: number
  readonly headerBytes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly idleMs: number
  readonly drainMs: number
  readonly watchesPerUser: number
  readonly connections: number
}

const defaultLimits: ApiServerLimits = {
  bodyBytes: 3 * 1024 * 1024,
  jsonDepth: 100,
  headerBytes: 32 * 1024,
  headersMs: 15_000,
  requestMs: 60_000,
  idleMs: 90_000,
  drainMs: 60_000,
  watchesPerUser: 1_000,
  connections: 10_000,
}

export interface ApiServerOptions {
  readonly tls: TlsFiles
  readonly log: Logger
  readonly clock: Clock
  readonly metrics: Metrics
  readonly limits?: Partial<ApiServerLimits> | undefined
}

export interface MountedCluster {
  /** The last segment of its address, `https://HOST:PORT/vks/<id>`. */
  readonly id: string
  readonly api: ClusterApi
  readonly podAccess: PodAccess
  readonly authenticate: Authenticator
  readonly authorize?: Authorizer | undefined
}

interface Mount {
  readonly face: ClusterFace
  readonly authenticate: Authenticator
}

/** One TLS listener; every cluster lives behind it under `/vks/<id>`, with its own users and objects. */
export class ApiServer {
  readonly #options: ApiServerOptions
  readonly #limits: ApiServerLimits
  readonly #metrics: ApiServerMetrics
  readonly #watches: WatchSlots
  readonly #mounts = new Map<string, Mount>()
  readonly #stopping = new AbortController()
  #server: Server | undefined

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#watches = new WatchSlots(this.#limits.watchesPerUser)
    this.#metrics = new ApiServerMetrics(options.metrics, this.#watches)
  }

  mount(cluster: MountedCluster): void {
    const { id, api, podAccess, authenticate, authorize = allowEverything } = cluster
    const face = new ClusterFace({ api, base: `/vks/${id}`, podAccess, authorize, watches: this.#watches })
    this.#mounts.set(id, { face, authenticate })
  }

  unmount(id: string): void {
    this.#mounts.delete(id)
  }

  listen(host: string, port: number): Promise<{ host: string; port: number }> {
    const { tls } = this.#options
    const server = createServer(
      {
        ...tls,
        minVersion: 'TLSv1.2',
        // A certificate is one of two ways to say who one is; one that is not signed by the CA simply does not count.
        requestCert: true,
        rejectUnauthorized: false,
        maxHeaderSize: this.#limits.headerBytes,
        headersTimeout: this.#limits.headersMs,
        requestTimeout: this.#limits.requestMs,
        keepAliveTimeout: this.#limits.idleMs,
        handshakeTimeout: this.#limits.headersMs,
      },
      (request, response) => void this.#serve(request, response),
    )
    server.maxConnections = this.#limits.connections
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        server.on('error', (error) => this.#options.log.error({ err: error }, 'the API server listener failed'))
        const address = server.address()
        resolve({ host, port: typeof address === 'object' && address !== null ? address.port : port })
      })
    })
  }

  /** Takes no new connections, ends watches, and gives running requests this long. */
  async close(graceMs: number): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = undefined
    this.#stopping.abort(new SluiceError('stopping'))
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    server.closeIdleConnections()
    const cancel = this.#options.clock.after(graceMs, () => server.closeAllConnections())
    await closed
    cancel()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = this.#options.clock.now()
    const exchange = new HttpExchange(request, response, this.#limits)
    let label: RequestLabel = { verb: (request.method ?? '').toLowerCase(), resource: '' }
    try {
      const url = parseRequestUrl(request.url ?? '')
      await this.#route(exchange, url, (found) => {
        label = found
      })
    } catch (error) {
      this.#answerError(exchange, error, label)
    } finally {
      this.#metrics.finished(label, response.statusCode, this.#options.clock.now() - startedAt)
      const { verb, resource } = label
      this.#options.log.debug({ verb, resource, code: response.statusCode }, 'api request')
    }
  }

  async #route(exchange: HttpExchange, url: RequestUrl, describe: (label: RequestLabel) => void): Promise<void> {
    const [prefix, id, ...segments] = url.segments
    const inCluster = prefix === 'vks' && id !== undefined
    const [first, ...beyond] = inCluster ? segments : url.segments
    const mount = inCluster ? this.#mounts.get(id) : undefined
    // Health and version are for everyone, and say nothing about which clusters there are.
    if (this.#answerPublic(exchange, first, beyond)) return
    const user = this.#authenticate(exchange, mount ? [mount] : inCluster ? [] : [...this.#mounts.values()])
    if (!inCluster && first === 'metrics' && beyond.length === 0) {
      exchange.sendText(200, await this.#options.metrics.text(), this.#options.metrics.contentType)
      return
    }
    if (!mount) {
      throw new StatusError('NotFound', 'there is nothing here; a cluster is at /vks/<clusterId>')
    }
    const signal = AbortSignal.any([exchange.signal, this.#stopping.signal])
    const request = { exchange, url: { segments, query: url.query }, user, signal }
    describe(mount.face.describe(request))
    await mount.face.handle(request)
  }

  #answerPublic(exchange: HttpExchange, first: string | undefined, beyond: readonly string[]): boolean {
    const { method } = exchange.request
    if (method !== 'GET' && method !== 'HEAD') return false
    if (first === 'version' && beyond.length === 0) exchange.sendJson(200, serverVersion)
    else if (first === 'healthz' || first === 'livez' || first === 'readyz') exchange.sendText(200, 'ok')
    else return false
    return true
  }

  /** The answer to a bad token, none, and one for another cluster is the same. */
  #authenticate(exchange: HttpExchange, mounts: readonly Mount[]): User {
    const credential = credentialOf(exchange.request)
    for (const { authenticate } of credential ? mounts : []) {
      const user = credential && authenticate(credential)
      if (user) return user
    }
    throw new StatusError('Unauthorized', 'Unauthorized')
  }

  #answerError(exchange: HttpExchange, error: unknown, label: RequestLabel): void {
    if (error instanceof StatusError) return exchange.sendError(error)
    if (exchange.signal.aborted) return
    if (error instanceof SluiceError && error.status === 503) {
      return exchange.sendError(new StatusError('ServiceUnavailable', error.message, { retryAfterSeconds: 5 }))
    }
    this.#options.log.error({ err: error, verb: label.verb, resource: label.resource }, 'api request failed')
    exchange.sendError(new StatusError('InternalError', 'Internal error occurred; the server log has the details'))
  }
}
