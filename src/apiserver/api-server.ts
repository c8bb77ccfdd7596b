import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type SecureContext, createSecureContext } from 'node:tls'
import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { StatusError } from '../resources/status-error.ts'
import { ApiServerMetrics } from './http/api-server-metrics.ts'
import type { Audit } from './audit/audit-event.ts'
import { type Authorizer, mastersOnly } from './access/roles/rbac-authorizer.ts'
import type { ServiceAccountTokens } from './access/identity/service-account-tokens.ts'
import type { Authenticator } from './access/identity/authentication.ts'
import type { ClusterApi } from './cluster-api.ts'
import { ClusterFace, type Describe, type RequestLabel } from './http/cluster-face.ts'
import { EncodedObjects } from './answers/encoded-objects.ts'
import { FlowControl, type FlowLimits, defaultFlowLimits } from './flow-control/flow-control.ts'
import { Handshakes } from './http/handshakes.ts'
import { type HealthCheck, healthAnswer, isHealthEndpoint } from './http/health.ts'
import { HttpExchange, internalError } from './http/http-exchange.ts'
import { InsideListener } from './http/inside-listener.ts'
import type { PodAccess } from './pods/pod-access.ts'
import { type RequestUrl, parseRequestUrl } from './http/request-url.ts'
import { serverVersion } from './http/server-version.ts'
import { ConnectionUpgrade, wantedUpgrade } from './streams/connection-upgrade.ts'
import { WatchSlots } from './flow-control/watch-slots.ts'

export interface TlsFiles {
  /** All PEM. `ca` signs the client certificates that count. */
  readonly key: string
  readonly cert: string
  readonly ca: string
}

export interface ApiServerLimits extends FlowLimits {
  readonly bodyBytes: number
  readonly jsonDepth: number
  readonly headerBytes: number
  readonly handshakeMs: number
  /** TLS handshakes in progress at a time. */
  readonly handshakes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly idleMs: number
  readonly drainMs: number
  readonly watchesPerUser: number
  /** Streams of exec, attach and port-forward. */
  readonly streamsPerUser: number
  readonly connections: number
}

const defaultLimits: ApiServerLimits = {
  bodyBytes: 3 * 1024 * 1024,
  jsonDepth: 100,
  headerBytes: 32 * 1024,
  handshakeMs: 10_000,
  handshakes: 512,
  headersMs: 15_000,
  requestMs: 60_000,
  idleMs: 90_000,
  drainMs: 60_000,
  watchesPerUser: 1_000,
  streamsPerUser: 250,
  connections: 10_000,
  ...defaultFlowLimits,
}

export interface ApiServerOptions {
  readonly tls: TlsFiles
  readonly log: Logger
  readonly clock: Clock
  readonly metrics: Metrics
  /** Told of every request that changes something or reaches into a Pod. */
  readonly audit?: Audit | undefined
  readonly limits?: Partial<ApiServerLimits> | undefined
}

export interface MountedCluster {
  /** The last segment of its address, `https://HOST:PORT/vks/<id>`. */
  readonly id: string
  readonly api: ClusterApi
  readonly podAccess: PodAccess
  readonly authenticate: Authenticator
  /** Without one, only `system:masters` may do anything. */
  readonly authorizer?: Authorizer | undefined
  /** Without it, service accounts cannot have tokens. */
  readonly tokens?: ServiceAccountTokens | undefined
  /** Checks for `/livez` and `/readyz` beside the server itself. */
  readonly checks?: readonly HealthCheck[] | undefined
  /**
   * Its own authority's, shown to those who call the server by this name and to those inside of it. Without one it is
   * known by the listener's.
   */
  readonly tls?: (TlsFiles & { readonly serverName: string }) | undefined
  /** What it may see of what is measured; without them it sees what the whole program measures. */
  readonly metrics?: Metrics | undefined
}

interface Mount {
  readonly face: ClusterFace
  readonly checks: readonly HealthCheck[]
  readonly watches: WatchSlots
  /** Whether it sees only what is measured about itself. */
  readonly isApart: boolean
  readonly tls: { readonly files: TlsFiles; readonly serverName: string } | undefined
  readonly inside: Array<{ readonly address: string; readonly listener: InsideListener }>
}

/** One TLS listener for all clusters, each with its own users and objects under `/vks/<id>`. */
export class ApiServer {
  readonly #options: ApiServerOptions
  readonly #limits: ApiServerLimits
  readonly #metrics: ApiServerMetrics
  readonly #mounts = new Map<string, Mount>()
  readonly #encoded = new EncodedObjects()
  readonly #stopping = new AbortController()
  /** Connections that were upgraded from HTTP, which the listener no longer counts as its own. */
  readonly #upgraded = new Set<Duplex>()
  /** The cluster that is served without a prefix at an address. */
  readonly #inside = new Map<string, string>()
  /** By the name that a client calls the server. */
  readonly #contexts = new Map<string, SecureContext>()
  readonly #flow: FlowControl
  readonly #handshakes: Handshakes
  #server: Server | undefined

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
    const { clock, metrics } = options
    this.#flow = new FlowControl({ limits: this.#limits, clock, metrics })
    this.#metrics = new ApiServerMetrics(metrics, () => this.#openWatches())
    this.#handshakes = new Handshakes(this.#limits.handshakes, () => this.#metrics.handshakeDropped())
    // Every open stream adds a listener.
    setMaxListeners(0, this.#stopping.signal)
  }

  mount(cluster: MountedCluster): void {
    const { id, authorizer = mastersOnly, checks = [], tls, metrics } = cluster
    // Who is called the same in another cluster is somebody else.
    const watches = new WatchSlots(this.#limits.watchesPerUser)
    const face = new ClusterFace({
      ...cluster,
      base: `/vks/${id}`,
      authorizer,
      checks: [...checks, this.#shutdownCheck()],
      watches,
      streams: new WatchSlots(this.#limits.streamsPerUser, 'streams'),
      flow: this.#flow,
      metrics: metrics ?? this.#options.metrics,
      audit: this.#options.audit,
    })
    const own = tls && { files: { key: tls.key, cert: tls.cert, ca: tls.ca }, serverName: tls.serverName }
    if (own) this.#contexts.set(own.serverName, createSecureContext(own.files))
    this.#mounts.set(id, { face, checks, watches, isApart: metrics !== undefined, tls: own, inside: [] })
  }

  /** Whoever asks for the cluster from now on finds nothing; what is being answered ends with its store. */
  unmount(id: string): void {
    const mount = this.#mounts.get(id)
    this.#mounts.delete(id)
    if (mount?.tls) this.#contexts.delete(mount.tls.serverName)
    for (const { address, listener } of mount?.inside ?? []) {
      this.#inside.delete(address)
      listener.close()
      listener.destroy()
    }
  }

  #openWatches(): number {
    return [...this.#mounts.values()].reduce((sum, { watches }) => sum + watches.total, 0)
  }

  /** `outside`: a socket that listens there already. */
  listen(host: string, port: number, outside?: number): Promise<{ host: string; port: number }> {
    const server = this.#createServer(this.#options.tls)
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(outside === undefined ? { port, host } : { fd: outside }, () => {
        server.off('error', reject)
        server.on('error', (error) => this.#options.log.error({ err: error }, 'the API server listener failed'))
        const address = server.address()
        resolve({ host, port: typeof address === 'object' && address !== null ? address.port : port })
      })
    })
  }

  /** What new connections are shown from now on; those that are open go on. */
  useCertificate(tls: TlsFiles): void {
    this.#server?.setSecureContext({ ...tls, minVersion: 'TLSv1.2' })
  }

  #createServer(tls: TlsFiles): Server {
    const server = createServer(
      {
        ...tls,
        SNICallback: (name, use) => use(null, this.#contexts.get(name)),
        minVersion: 'TLSv1.2',
        // A certificate is one of two ways to authenticate; one that the CA did not sign simply does not count.
        requestCert: true,
        rejectUnauthorized: false,
        maxHeaderSize: this.#limits.headerBytes,
        headersTimeout: this.#limits.headersMs,
        requestTimeout: this.#limits.requestMs,
        keepAliveTimeout: this.#limits.idleMs,
        handshakeTimeout: this.#limits.handshakeMs,
        // How often slow clients are looked for: Node's own 30 s would let them stay much longer than the limits say.
        connectionsCheckingInterval: Math.min(5_000, this.#limits.headersMs, this.#limits.requestMs),
        shouldUpgradeCallback: (request) => wantedUpgrade(request) !== undefined,
      },
      (request, response) => void this.#serve(request, response),
    )
    // Before anything else is done for a connection, from whichever listener it comes.
    server.prependListener('connection', (socket: Socket) => this.#handshakes.begin(socket))
    server.on('secureConnection', (socket) => this.#handshakes.done(socket))
    server.on('upgrade', (request, socket, head) => {
      const upgrade = ConnectionUpgrade.of(request, socket, head)
      this.#upgraded.add(socket)
      socket.once('close', () => this.#upgraded.delete(socket))
      if (upgrade) void this.#serve(request, upgrade.response, upgrade)
      else socket.destroy()
    })
    server.maxConnections = this.#limits.connections
    return server
  }

  /**
   * Serves one cluster without its prefix at an address of its own, for programs in the cluster: they are given a host
   * and a port and know of no prefix. Can be called once the server listens.
   */
  async listenInside(id: string, address: string, port: number): Promise<void> {
    const mount = this.#mounts.get(id)
    if (!mount) throw nothingHere()
    // Clients inside often call it by an address, which names no cluster: a server of its own shows its certificate.
    const own = mount.tls && this.#createServer(mount.tls.files)
    const listener = new InsideListener(
      (socket) => (own ?? this.#server)?.emit('connection', socket),
      this.#options.log,
    )
    await listener.listen(address, port)
    this.#inside.set(address, id)
    mount.inside.push({ address, listener })
  }

  /** Takes no new connections, ends watches, and gives running requests this long to finish. */
  async close(graceMs: number): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = undefined
    const inside = [...this.#mounts.values()].flatMap((mount) => mount.inside)
    for (const { listener } of inside) listener.close()
    this.#stopping.abort(new SluiceError('stopping'))
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve())
    })
    server.closeIdleConnections()
    const cancel = this.#options.clock.after(graceMs, () => {
      server.closeAllConnections()
      for (const socket of this.#upgraded) socket.destroy()
    })
    await closed
    cancel()
    for (const { listener } of inside) listener.destroy()
  }

  async #serve(request: IncomingMessage, response: ServerResponse, upgrade?: ConnectionUpgrade): Promise<void> {
    markLoop(`api ${request.method}`, request.url ?? '')
    const startedAt = this.#options.clock.now()
    const exchange = new HttpExchange(request, response, {
      limits: this.#limits,
      encoded: this.#encoded,
      stopping: this.#stopping.signal,
      upgrade,
    })
    let label: RequestLabel = { verb: (request.method ?? '').toLowerCase(), resource: '' }
    try {
      const url = this.#urlOf(request)
      await this.#route(exchange, url, (found) => {
        label = found
      })
    } catch (error) {
      this.#answerFailure(exchange, error, label)
    } finally {
      exchange.audited?.completed(exchange.answeredCode)
      this.#metrics.finished(label, response.statusCode, this.#options.clock.now() - startedAt)
      const { verb, resource } = label
      this.#options.log.debug({ verb, resource, code: response.statusCode }, 'api request')
    }
  }

  #urlOf({ url = '', socket }: IncomingMessage): RequestUrl {
    const parsed = parseRequestUrl(url)
    const id = this.#inside.get(socket.localAddress ?? '')
    if (id === undefined) return parsed
    // What the cluster's own documents refer to has the prefix. No other cluster is in there.
    if (parsed.segments[0] === 'vks' && parsed.segments[1] === id) return parsed
    return { ...parsed, segments: ['vks', id, ...parsed.segments] }
  }

  #route(exchange: HttpExchange, url: RequestUrl, describe: Describe): Promise<void> {
    const [prefix, id, ...segments] = url.segments
    if (prefix !== 'vks' || id === undefined) return this.#answerOutside(exchange, url)
    const mount = this.#mounts.get(id)
    if (!mount) throw nothingHere()
    return mount.face.handle({ exchange, url: { segments, query: url.query } }, describe)
  }

  /**
   * Answers what belongs to the listener and not to a cluster: health and version for everybody, metrics for those who
   * may read a cluster's.
   */
  async #answerOutside(exchange: HttpExchange, { segments, query }: RequestUrl): Promise<void> {
    const [first, ...beyond] = segments
    const { method } = exchange.request
    if (method !== 'GET' && method !== 'HEAD') throw nothingHere()
    if (isHealthEndpoint(first)) {
      const { code, text } = healthAnswer(first, beyond, query, [this.#clustersCheck(), this.#shutdownCheck()])
      return exchange.sendText(code, text)
    }
    if (first === 'version' && beyond.length === 0) return exchange.sendJson(200, serverVersion)
    if (first !== 'metrics' || beyond.length > 0) throw nothingHere()
    const whole = [...this.#mounts.values()].filter(({ isApart }) => !isApart)
    if (!whole.some(({ face }) => face.maySeeMetrics(exchange.request))) {
      throw new StatusError('Unauthorized', 'Unauthorized')
    }
    exchange.sendText(200, await this.#options.metrics.text(), this.#options.metrics.contentType)
  }

  /** One check for all clusters: their names are not public. */
  #clustersCheck(): HealthCheck {
    const whole = () => [...this.#mounts.values()].filter(({ isApart }) => !isApart)
    const isHealthy = () => whole().every(({ checks }) => checks.every((check) => check.isHealthy()))
    return { name: 'clusters', isHealthy }
  }

  #shutdownCheck(): HealthCheck {
    return { name: 'shutdown', readinessOnly: true, isHealthy: () => !this.#stopping.signal.aborted }
  }

  /**
   * The last resort: an error while answering an error gets a plainer answer, and affects nothing but its own request.
   */
  #answerFailure(exchange: HttpExchange, error: unknown, label: RequestLabel): void {
    try {
      this.#answerError(exchange, error, label)
    } catch (failure) {
      exchange.sendPlainFailure()
      const { verb, resource } = label
      this.#options.log.error(
        { err: failure, verb, resource },
        'the answer to an api request that failed could not be written',
      )
    }
  }

  #answerError(exchange: HttpExchange, error: unknown, label: RequestLabel): void {
    if (error instanceof StatusError) return exchange.sendError(error)
    if (exchange.isGone) return
    if (error instanceof SluiceError && error.status === 503) {
      return exchange.sendError(new StatusError('ServiceUnavailable', error.message, { retryAfterSeconds: 5 }))
    }
    this.#options.log.error({ err: error, verb: label.verb, resource: label.resource }, 'api request failed')
    exchange.sendError(internalError())
  }
}

function nothingHere(): StatusError {
  return new StatusError('NotFound', 'there is nothing here; a cluster is at /vks/<clusterId>')
}
