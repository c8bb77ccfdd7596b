import { BuiltPage } from '../foundation/built-page.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { errorMessage, SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { Answer, Done, Exchange, Handler, HeaderPairs } from '../relay/exchange.ts'
import type { RelayLimits } from '../relay/limits.ts'
import { type ListenOptions, RelayServer } from '../relay/relay-server.ts'
import { TurnClock } from '../relay/socket/turn-clock.ts'
import type { EndpointPool } from '../traffic/endpoint-pool.ts'
import type { ModelCatalog } from '../traffic/model-catalog.ts'
import { forwardedClient } from './access/forwarded-client.ts'
import { GrantedModels, openGrant } from './access/granted-models.ts'
import { KeyCheck, type KeySource, keyFields } from './access/key-check.ts'
import { noProxies, type TrustedProxies } from './access/trusted-proxies.ts'
import { isPreflight, preflightAnswer } from './answers/cors.ts'
import { openAiModel, openAiModelList } from './answers/model-listing.ts'
import { codedError, errorAnswer } from './answers/openai-errors.ts'
import { type Asked, readAsked, readPassThrough } from './body/asked-model.ts'
import { BodyBudget, type BodyShare } from './body/body-budget.ts'
import { renameModel } from './body/json-body.ts'
import { TurnWork } from './body/turn-work.ts'
import { GatewayMetrics } from './gateway-metrics.ts'
import { defaultGatewaySettings, type GatewaySettings } from './gateway-settings.ts'
import { isClientGone } from './model/client-gone.ts'
import { ModelRequest, type ModelRequestTools } from './model/model-request.ts'
import { RequestLines } from './request-log/request-lines.ts'
import { RequestRecord } from './request-log/request-record.ts'
import { type ResponsesTranslation, translateBody } from './responses/responses-translation.ts'
import { matchRoute, type Route } from './routes.ts'
import type { UsageCounter } from './usage/usage-counter.ts'

export interface GatewayOptions {
  readonly catalog: ModelCatalog
  readonly pool: EndpointPool
  readonly log: Logger
  /** The clock of its connections. */
  readonly turnClock?: TurnClock
  /** The clock of everything else, if it is another one. */
  readonly clock?: Clock
  readonly metrics?: Metrics
  /** The text of `/metrics`, if it covers more than this gateway. */
  readonly metricsText?: () => Promise<string>
  /** The built files of the chat page; without them there is no page. */
  readonly chatPageDirectory?: string
  /** If set, requests need a key; else everybody may use every model. */
  readonly keys?: KeySource | undefined
  /** The proxies that are believed about their clients; by default none. */
  readonly trustedProxies?: TrustedProxies | undefined
  /** Why no sleeping model is woken at the moment; undefined while they are. */
  readonly wakeObstacle?: (() => string | undefined) | undefined
  /** Counts what models answer to whom. */
  readonly usage?: Pick<UsageCounter, 'count'> | undefined
  readonly settings?: Partial<GatewaySettings>
  readonly relayLimits?: Partial<RelayLimits>
}

const chatPageRules = { policy: ["font-src 'self'", "manifest-src 'self'"] }

type ModelRoute = Extract<Route, { kind: 'inference' | 'pass-through' }>

/** The OpenAI-compatible API of the cluster's Models. */
export class Gateway {
  readonly #options: GatewayOptions
  readonly #clock: Clock
  readonly #settings: GatewaySettings
  readonly #registry: Metrics
  readonly #metrics: GatewayMetrics
  readonly #requestLines: RequestLines
  readonly #modelTools: ModelRequestTools
  readonly #bodies: BodyBudget
  readonly #work = new TurnWork()
  readonly #keys: KeyCheck | undefined
  readonly #trusted: TrustedProxies
  /** Used if no keys are required. */
  readonly #allModels: GrantedModels
  readonly #server: RelayServer
  #chatPage: BuiltPage | undefined
  #stopping = false

  readonly handler: Handler = (exchange, done) => this.#handle(exchange, done)

  constructor(options: GatewayOptions) {
    this.#options = options
    const turnClock = options.turnClock ?? new TurnClock(systemClock)
    this.#clock = options.clock ?? turnClock
    this.#settings = { ...defaultGatewaySettings, ...options.settings }
    this.#registry = options.metrics ?? new Metrics()
    this.#metrics = new GatewayMetrics(this.#registry)
    this.#requestLines = new RequestLines(options.log)
    const { maxBodyBytes, maxHeldBytes, addressShare, pressedBytesPerSecond } = this.#settings
    const addressBytes = Math.min(maxHeldBytes, Math.max(maxBodyBytes, Math.floor(maxHeldBytes * addressShare)))
    const bodies = { limitBytes: maxBodyBytes, totalBytes: maxHeldBytes, addressBytes, pressedBytesPerSecond }
    this.#bodies = new BodyBudget(bodies, this.#clock)
    this.#keys = options.keys && new KeyCheck(options.keys)
    this.#trusted = options.trustedProxies ?? noProxies
    const { catalog, pool, wakeObstacle } = options
    this.#allModels = new GrantedModels(catalog, openGrant)
    const clock = this.#clock
    this.#modelTools = { catalog, pool, wakeObstacle, clock, metrics: this.#metrics, settings: this.#settings }
    this.#server = new RelayServer({
      handler: this.handler,
      errorAnswer,
      clock: turnClock,
      log: options.log,
      isShared: (address) => this.#trusted.includes(address),
      ...(options.relayLimits && { limits: options.relayLimits }),
    })
  }

  /** Reads the chat page and accepts requests. Port 0 picks a free one. */
  async listen(host: string, port: number, options: ListenOptions = {}): Promise<{ host: string; port: number }> {
    const { chatPageDirectory } = this.#options
    if (chatPageDirectory !== undefined) this.#chatPage = this.#loadChatPage(chatPageDirectory)
    return this.#server.listen(host, port, options)
  }

  /** Becomes unready and accepts nothing new; running requests may finish within the grace and are then ended. */
  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopping = true
    await this.#server.close({ graceMs: options.graceMs ?? this.#settings.stopGraceMs })
    this.#keys?.close()
  }

  /** The API is served even if the page's files are missing. */
  #loadChatPage(directory: string): BuiltPage | undefined {
    try {
      return BuiltPage.load(directory, chatPageRules)
    } catch (error) {
      this.#options.log.warn({ directory, reason: errorMessage(error) }, 'there is no chat page to serve')
      return undefined
    }
  }

  #handle(exchange: Exchange, done: Done): void {
    markLoop('gateway', exchange.head.path)
    const record = new RequestRecord(exchange, forwardedClient(exchange, this.#trusted), this.#clock.now())
    const share = this.#bodies.share(record.client.address)
    this.#metrics.inFlight++
    const finish: Done = (failure) => {
      share.release()
      this.#metrics.inFlight--
      this.#tell(record, exchange)
      done(failure)
    }
    const end: Done = (failure) => {
      if (failure === undefined) finish()
      else this.#answerError(exchange, record, failure, finish)
    }
    try {
      this.#serve(exchange, record, share, end)
    } catch (error) {
      end(error)
    }
  }

  /** Called for every finished request, by code that serves other requests too: nothing may throw from here. */
  #tell(record: RequestRecord, exchange: Exchange): void {
    try {
      const now = this.#clock.now()
      record.count(this.#metrics, now)
      this.#options.usage?.count(record, !record.complete && isClientGone(exchange))
      this.#requestLines.write(record, exchange.head.method, now)
    } catch (error) {
      this.#options.log.error({ requestId: record.requestId, err: error }, 'a finished request could not be counted')
    }
  }

  #serve(exchange: Exchange, record: RequestRecord, share: BodyShare, end: Done): void {
    const { method, path, headers } = exchange.head
    const preflight = isPreflight(method, headers)
    const match = matchRoute(preflight ? (headers.get('access-control-request-method') ?? '') : method, path)
    switch (match.found) {
      case 'route':
        if (!preflight) return this.#serveRoute(exchange, match.route, record, share, end)
        record.route = 'preflight'
        return this.#respond(exchange, record, preflightAnswer(headers, match.methods), end)
      case 'method-refused':
        throw new SluiceError('method_not_allowed', { method, path, allowed: [...match.methods, 'OPTIONS'].join(', ') })
      case 'nothing': {
        const page =
          method === 'GET' || method === 'HEAD' ? this.#chatPage?.answer(path, headers.get('if-none-match')) : undefined
        if (!page) throw new SluiceError('route_not_found', { method, path: path.slice(0, 200) })
        record.route = 'chat-page'
        return this.#respond(exchange, record, page, end)
      }
      default:
        return match satisfies never
    }
  }

  #serveRoute(exchange: Exchange, route: Route, record: RequestRecord, share: BodyShare, end: Done): void {
    record.route = route.kind === 'inference' || route.kind === 'pass-through' ? route.name : route.kind
    if (route.kind === 'health') return this.#respond(exchange, record, textAnswer(200, 'ok'), end)
    if (route.kind === 'readiness') return this.#respond(exchange, record, this.#readiness(), end)
    const models = this.#modelsFor(exchange, record)
    const source = { exchange, models, share, work: this.#work }
    switch (route.kind) {
      case 'models':
        return this.#respond(exchange, record, jsonAnswer(openAiModelList(models.list())), end)
      case 'model':
        return models.findNewest(
          route.id,
          () => this.#respond(exchange, record, jsonAnswer(openAiModel(models.listed(route.id))), end),
          end,
        )
      case 'inference':
        return readAsked(source, route, (asked) => this.#serveModel(exchange, route, asked, record, end), end)
      case 'pass-through':
        return readPassThrough(source, (asked) => this.#serveModel(exchange, route, asked, record, end), end)
      case 'metrics':
        models.requireAll('the metrics of all models')
        return this.#serveMetrics(exchange, record, end)
      default:
        return route satisfies never
    }
  }

  #serveModel(exchange: Exchange, route: ModelRoute, asked: Asked, record: RequestRecord, end: Done): void {
    record.model = asked.model
    if (route.name === 'responses' && !this.#options.catalog.get(asked.model)?.hasResponses) {
      return this.#serveAsChat(exchange, asked, record, end)
    }
    if (asked.renamed === undefined) return this.#send(exchange, route, asked, undefined, record, end)
    renameModel(exchange, this.#work, asked.renamed)
      .then((body) => this.#send(exchange, route, asked, body, record, end))
      .catch(end)
  }

  /** `sentBody`: instead of the client's. */
  #send(
    exchange: Exchange,
    route: ModelRoute,
    asked: Asked,
    sentBody: readonly Buffer[] | undefined,
    record: RequestRecord,
    end: Done,
  ): void {
    const { model, streamed, body, check } = asked
    record.bodyBytes = body?.length ?? 0
    const request = {
      model,
      streamed,
      body,
      check,
      sentBody,
      target: targetOf(exchange, route.upstreamPath),
      headers: {
        set: record.client.fields.length === 0 ? [record.idField] : [record.idField, ...record.client.fields],
        // Our own keys are not for engines. If no keys are required, the client's may be meant for the engine.
        remove: this.#keys ? ownFieldsAndKey : ownFields,
      },
      reportsUsage: route.kind === 'inference',
    }
    new ModelRequest(this.#modelTools, exchange, request, record, end).try()
  }

  /** A response is asked for, and the model's engine has chat completions only. */
  #serveAsChat(exchange: Exchange, { model, streamed, renamed }: Asked, record: RequestRecord, end: Done): void {
    const go = (translation: ResponsesTranslation): void => {
      record.bodyBytes = translation.body[0]?.length ?? 0
      const request = {
        model,
        streamed,
        body: translation.body[0],
        // What was translated has been checked.
        check: async () => {},
        target: targetOf(exchange, '/v1/chat/completions'),
        sentBody: translation.body,
        translation,
        headers: {
          set: [record.idField, ...record.client.fields],
          remove: this.#keys ? translatedFieldsAndKey : translatedFields,
        },
        reportsUsage: true,
      }
      new ModelRequest(this.#modelTools, exchange, request, record, end).try()
    }
    translateBody({ exchange, work: this.#work, model: renamed }, go, end)
  }

  #serveMetrics(exchange: Exchange, record: RequestRecord, end: Done): void {
    const headers: HeaderPairs = [['content-type', this.#registry.contentType]]
    const text = this.#options.metricsText?.() ?? this.#registry.text()
    text.then((body) => this.#respond(exchange, record, { status: 200, headers, body }, end), end)
  }

  /** The models that the request's key allows. */
  #modelsFor({ head }: Exchange, record: RequestRecord): GrantedModels {
    if (!this.#keys) return this.#allModels
    const grant = this.#keys.admit(head.headers, this.#clock.now())
    record.key = grant.key
    return new GrantedModels(this.#options.catalog, grant)
  }

  #readiness(): Answer {
    if (this.#stopping) return textAnswer(503, 'stopping')
    if (!this.#options.catalog.synced) return textAnswer(503, 'the Models are not known yet')
    if (this.#keys?.synced === false) return textAnswer(503, 'the API keys are not known yet')
    return textAnswer(200, 'ok')
  }

  #respond(exchange: Exchange, record: RequestRecord, answer: Answer, end: Done): void {
    record.status = answer.status
    record.bytes = answer.body === undefined ? 0 : Buffer.byteLength(answer.body)
    const isPage = record.route === 'chat-page' || record.route === 'preflight'
    const common = isPage ? record.headers.slice(0, 1) : record.headers
    exchange.respond({ ...answer, headers: [...common, ...(answer.headers ?? [])] }, end)
  }

  #answerError(exchange: Exchange, record: RequestRecord, error: unknown, finish: Done): void {
    const known = codedError(error)
    if (isClientGone(exchange)) {
      record.status = 499
      record.errorCode = 'client_gone'
      return finish()
    }
    record.status = known.status
    record.errorCode = known.code
    if (known.code === 'internal_error') {
      this.#options.log.error({ requestId: record.requestId, err: error }, 'a request failed inside the gateway')
    }
    if (exchange.responseStarted) return finish(known)
    const answer = errorAnswer(known, record.headers)
    record.bytes = answer.body === undefined ? 0 : Buffer.byteLength(answer.body)
    exchange.respond(answer, finish)
  }
}

const ownFields = ['x-sluice-model']
const ownFieldsAndKey = [...ownFields, ...keyFields]
/** An answer that is read here must not be compressed. */
const translatedFields = [...ownFields, 'accept-encoding']
const translatedFieldsAndKey = [...translatedFields, ...keyFields]

function targetOf({ head: { query } }: Exchange, path: string): string {
  return query === '' ? path : `${path}?${query}`
}

function jsonAnswer(value: unknown): Answer {
  return { status: 200, headers: [['content-type', 'application/json']], body: JSON.stringify(value) }
}

function textAnswer(status: number, text: string): Answer {
  return { status, headers: [['content-type', 'text/plain']], body: `${text}\n` }
}
