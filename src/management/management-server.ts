import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ObjectCache } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { ApiKey } from '../resources/api-key.ts'
import type { ComputeCenter } from '../resources/compute-center.ts'
import type { ClusterDirectory } from './cluster-directory.ts'
import { type Answer, failure, rawFailure, success, text } from './envelope.ts'
import { Console } from './console/console.ts'
import type { ConsoleWorld } from './console/console-world.ts'
import { openApiText } from './openapi/openapi-document.ts'
import { AttemptLimiter } from './attempt-limiter.ts'
import { KeyRing } from './key-ring.ts'
import { type Caller, ManagementAccess } from './management-access.ts'
import { RememberedDetails } from './remembered-details.ts'
import {
  type ManagementResources,
  type Route,
  allowedMethods,
  answerApi,
  pathOf,
  routeOf,
} from './management-routes.ts'

export interface ManagementServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** A socket that already listens, if this program is in its own network namespace and could not be reached there. */
  readonly outside?: number | undefined
  readonly keys: ObjectCache<ApiKey>
  readonly centers: ObjectCache<ComputeCenter>
  readonly clusters: ClusterDirectory
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /**
   * Which enterprises may read the metrics, which are about the whole program, and use the console; by default, all.
   */
  readonly mayReadMetrics?: (enterprise: string) => boolean
  /** Without it, there is no console. */
  readonly console?: ConsoleWorld | undefined
  /** Further conditions for being ready, besides having read keys and centers. */
  readonly ready?: () => boolean
  readonly limits?: Partial<ManagementLimits>
}

export interface ManagementLimits {
  readonly headBytes: number
  readonly headMs: number
  readonly requestMs: number
  readonly keepAliveMs: number
  readonly connections: number
}

const defaultLimits: ManagementLimits = {
  headBytes: 16 * 1024,
  headMs: 10_000,
  requestMs: 15_000,
  keepAliveMs: 5_000,
  connections: 1_024,
}

/** The platform's REST API: shows compute centers and clusters to holders of an enterprise's key pair. */
export class ManagementServer {
  readonly name = 'management'
  readonly #options: ManagementServerOptions
  readonly #access: ManagementAccess
  readonly #resources: ManagementResources
  readonly #console: Console | undefined
  readonly #server: Server
  readonly #requests
  readonly #seconds

  constructor(options: ManagementServerOptions) {
    this.#options = options
    const now = () => options.clock.now()
    this.#access = new ManagementAccess(new KeyRing(options.keys, now), new AttemptLimiter(now), options.log)
    const { centers, clusters } = options
    this.#resources = { access: this.#access, centers, clusters, details: new RememberedDetails(), now }
    const { console: world, mayReadMetrics: mayUse = () => true, clock, log } = options
    this.#console = world && new Console({ world, pairs: this.#access, mayUse, clock, log })
    this.#requests = options.metrics.counter(
      'sluice_management_requests_total',
      'Requests to the management API, by route and status',
      ['route', 'status'],
    )
    this.#seconds = options.metrics.histogram(
      'sluice_management_request_seconds',
      'Time to answer a management request',
      [0.001, 0.005, 0.025, 0.1, 0.5, 2],
      ['route'],
    )
    this.#server = this.#createServer({ ...defaultLimits, ...options.limits })
  }

  get port(): number {
    const address = this.#server.address()
    return isAddressInfo(address) ? address.port : 0
  }

  start(): Promise<void> {
    const { host, port, outside } = this.#options
    this.#console?.start()
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => {
        const details = { name: 'management', host, port, flag: '--management-port' }
        reject(error.code === 'EADDRINUSE' ? new SluiceError('port_in_use', details, { cause: error }) : error)
      })
      this.#server.listen(outside === undefined ? { host, port } : { fd: outside }, () => resolve())
    })
  }

  /** Accepts nothing new, lets running answers finish, and cuts off the rest when the signal is aborted. */
  stop(signal?: AbortSignal): Promise<void> {
    this.#access.close()
    this.#console?.stop()
    return new Promise((resolve) => {
      const cut = () => this.#server.closeAllConnections()
      signal?.addEventListener('abort', cut, { once: true })
      this.#server.close(() => {
        signal?.removeEventListener('abort', cut)
        resolve()
      })
      this.#server.closeIdleConnections()
    })
  }

  #createServer(limits: ManagementLimits): Server {
    const settings = {
      maxHeaderSize: limits.headBytes,
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headMs),
      // Checked in our own code instead, since Node's refusal has no body.
      requireHostHeader: false,
    }
    const server = createServer(settings, (request, response) => this.#handle(request, response))
    server.maxConnections = limits.connections
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      this.#finish(request, response, { name: 'unknown' }, failure(malformed('the expectation cannot be met')))
    })
    server.on('clientError', refuseRaw)
    server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
      socket.on('error', () => socket.destroy())
      const details = { path: 'The management API', method: 'CONNECT', allowed: allowedMethods.join(', ') }
      socket.end(rawFailure(405, new SluiceError('method_not_allowed', details).message))
    })
    return server
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request.url ?? '/')
    const isConsole = this.#console?.owns(path) === true
    const route: Route = isConsole ? { name: 'console' } : routeOf(request.url ?? '/')
    const startedAt = this.#options.clock.now()
    const requestId = randomUUID()
    const { log } = this.#options
    const about = { requestId, route: route.name }
    response.on('close', () => {
      const seconds = (this.#options.clock.now() - startedAt) / 1000
      this.#seconds.observe({ route: route.name }, seconds)
      this.#requests.inc({ route: route.name, status: response.statusCode })
      log.info({ ...about, method: request.method, status: response.statusCode, seconds }, 'management request')
    })
    const answer = isConsole ? this.#console?.handle(request, response, path) : this.#answer(request, route)
    Promise.resolve(answer)
      .catch((error: unknown) => {
        log.error({ ...about, err: error }, 'a management request failed')
        return failure(new SluiceError('internal_error'))
      })
      .then((made) => made && this.#finish(request, response, route, made, requestId))
      .catch((error: unknown) => {
        log.error({ ...about, err: error }, 'a management answer could not be sent')
        response.destroy()
      })
  }

  async #answer(request: IncomingMessage, route: Route): Promise<Answer> {
    const { metrics } = this.#options
    try {
      if (request.httpVersionMinor > 0 && request.headersDistinct['host']?.length !== 1) {
        return failure(malformed('it must have exactly one Host header'))
      }
      const reading = allowedMethods.includes(request.method ?? '')
      if (route.name === 'healthz' && reading) return text(200, 'ok\n')
      if (route.name === 'readyz' && reading) return this.#isReady() ? text(200, 'ok\n') : text(503, 'not ready\n')
      if (route.name === 'openapi' && reading) return text(200, openApiText(), 'application/json')
      const { method = '', url: target = '/', headersDistinct, socket } = request
      const caller = { authorization: headersDistinct['authorization'], source: socket.remoteAddress ?? '' }
      if (route.name === 'metrics' && reading) {
        this.#requireMetricsReader(caller)
        return text(200, await metrics.text(), metrics.contentType)
      }
      return success(answerApi({ method, target, ...caller }, route, this.#resources))
    } catch (error) {
      if (error instanceof SluiceError) return failure(error)
      throw error
    }
  }

  /** The same refusal as for a wrong key pair, so that other enterprises learn nothing here, either. */
  #requireMetricsReader(caller: Caller): void {
    const enterprise = this.#access.authenticate(caller)
    if (this.#options.mayReadMetrics?.(enterprise) === false) throw new SluiceError('credential_refused')
  }

  #isReady(): boolean {
    const { centers, keys, ready } = this.#options
    return keys.synced && centers.synced && (ready?.() ?? true)
  }

  #finish(
    request: IncomingMessage,
    response: ServerResponse,
    route: Route,
    answer: Answer,
    requestId: string = randomUUID(),
  ): void {
    if (response.headersSent || response.destroyed) return
    response.writeHead(answer.status, {
      'x-request-id': requestId,
      ...(answer.status === 405 ? { allow: allowedMethods.join(', ') } : {}),
      ...answer.headers,
      'content-length': Buffer.byteLength(answer.body),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Instead of reading a body to its end that nobody wants, the connection is closed.
      ...(hasUnreadBody(request, route) || route.name === 'unknown' || answer.status === 400
        ? { connection: 'close' }
        : {}),
    })
    response.end(request.method === 'HEAD' ? undefined : answer.body)
  }
}

/** Only the console's routes take a body. */
function hasUnreadBody({ headers, complete }: IncomingMessage, { name }: Route): boolean {
  if (name === 'console' && complete) return false
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function malformed(reason: string): SluiceError {
  return new SluiceError('invalid_http', { reason })
}

/** What Node's parser refuses never becomes a request, but is answered with the same envelope. */
function refuseRaw(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  socket.end(rawFailure(...rawRefusal(error.code)))
}

function rawRefusal(code: string | undefined): [status: number, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [431, new SluiceError('head_too_large', { reason: 'together they must fit the limit' }).message]
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'The request did not arrive in time.']
  return [400, malformed('it cannot be parsed').message]
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null
}
