import { type Clock, systemClock } from '../foundation/clock.ts'
import { errorMessage, SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { Answer, Exchange } from '../relay/exchange.ts'
import type { RelayLimits } from '../relay/limits.ts'
import { type Handler, RelayServer } from '../relay/relay-server.ts'
import type { EndpointPool } from '../traffic/endpoint-pool.ts'
import type { ModelCatalog } from '../traffic/model-catalog.ts'
import { BodyBudget, type BodyShare } from './body-budget.ts'
import { ChatPage } from './chat-page.ts'
import { isClientGone } from './client-gone.ts'
import { isPreflight, preflightAnswer } from './cors.ts'
import { GatewayMetrics } from './gateway-metrics.ts'
import { defaultGatewaySettings, type GatewaySettings } from './gateway-settings.ts'
import { Inference } from './inference.ts'
import { openAiModel, openAiModelList } from './model-listing.ts'
import { readAsked, readPassThroughModel } from './model-name.ts'
import { codedError, errorAnswer } from './openai-errors.ts'
import { RequestRecord } from './request-record.ts'
import { matchRoute, type Route } from './routes.ts'

export interface GatewayOptions {
  readonly catalog: ModelCatalog
  readonly pool: EndpointPool
  readonly log: Logger
  readonly clock?: Clock
  readonly metrics?: Metrics
  /** Built files of the chat page; without it there is none. */
  readonly chatPageDirectory?: string
  readonly settings?: Partial<GatewaySettings>
  readonly relayLimits?: Partial<RelayLimits>
}

/** The OpenAI face of the cluster's Models. */
export class Gateway {
  readonly #options: GatewayOptions
  readonly #clock: Clock
  readonly #settings: GatewaySettings
  readonly #registry: Metrics
  readonly #metrics: GatewayMetrics
  readonly #inference: Inference
  readonly #bodies: BodyBudget
  readonly #server: RelayServer
  #chatPage: ChatPage | undefined
  #stopping = false

  readonly handler: Handler = (exchange) => this.#handle(exchange)

  constructor(options: GatewayOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#settings = { ...defaultGatewaySettings, ...options.settings }
    this.#registry = options.metrics ?? new Metrics()
    this.#metrics = new GatewayMetrics(this.#registry)
    const { maxBodyBytes, maxHeldBytes } = this.#settings
    this.#bodies = new BodyBudget({ limitBytes: maxBodyBytes, totalBytes: maxHeldBytes })
    const { catalog, pool } = options
    this.#inference = new Inference({
      catalog,
      pool,
      clock: this.#clock,
      metrics: this.#metrics,
      settings: this.#settings,
    })
    this.#server = new RelayServer({
      handler: this.handler,
      log: options.log,
      ...(options.relayLimits && { limits: options.relayLimits }),
    })
  }

  /** Reads the chat page and accepts requests. Port 0 picks a free one. */
  async listen(host: string, port: number): Promise<{ host: string; port: number }> {
    const { chatPageDirectory } = this.#options
    if (chatPageDirectory !== undefined) this.#chatPage = await this.#loadChatPage(chatPageDirectory)
    return this.#server.listen(host, port)
  }

  /** Not ready any more, nothing new accepted; what runs has the grace to finish and is then told that it ends. */
  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopping = true
    await this.#server.close({ graceMs: options.graceMs ?? this.#settings.stopGraceMs })
  }

  /** The API is worth more than its page: without the page's files it is served all the same. */
  async #loadChatPage(directory: string): Promise<ChatPage | undefined> {
    try {
      return await ChatPage.load(directory)
    } catch (error) {
      this.#options.log.warn({ directory, reason: errorMessage(error) }, 'there is no chat page to serve')
      return undefined
    }
  }

  async #handle(exchange: Exchange): Promise<void> {
    const record = new RequestRecord(exchange, this.#clock.now())
    const share = this.#bodies.share()
    this.#metrics.inFlight.inc()
    try {
      await this.#serve(exchange, record, share)
    } catch (error) {
      await this.#answerError(exchange, record, error)
    } finally {
      share.release()
      this.#metrics.inFlight.dec()
      record.finish(exchange, this.#clock.now(), this.#options.log, this.#metrics)
    }
  }

  async #serve(exchange: Exchange, record: RequestRecord, share: BodyShare): Promise<void> {
    const { method, path, headers } = exchange.head
    const preflight = isPreflight(method, headers)
    const match = matchRoute(preflight ? (headers.get('access-control-request-method') ?? '') : method, path)
    switch (match.found) {
      case 'route':
        if (!preflight) return this.#serveRoute(exchange, match.route, record, share)
        record.route = 'preflight'
        return this.#respond(exchange, record, preflightAnswer(headers, match.methods))
      case 'method-refused':
        throw new SluiceError('method_not_allowed', { method, path, allowed: [...match.methods, 'OPTIONS'].join(', ') })
      case 'nothing': {
        const page = method === 'GET' || method === 'HEAD' ? this.#chatPage?.answer(path, headers) : undefined
        if (!page) throw new SluiceError('route_not_found', { method, path: path.slice(0, 200) })
        record.route = 'chat-page'
        return this.#respond(exchange, record, page)
      }
    }
  }

  async #serveRoute(exchange: Exchange, route: Route, record: RequestRecord, share: BodyShare): Promise<void> {
    const { catalog } = this.#options
    record.route = route.kind === 'inference' || route.kind === 'pass-through' ? route.name : route.kind
    switch (route.kind) {
      case 'models':
        return this.#respond(exchange, record, jsonAnswer(openAiModelList(catalog.list())))
      case 'model': {
        const model = catalog.get(route.id)
        if (!model) throw new SluiceError('model_not_found', { model: route.id.slice(0, 100) })
        return this.#respond(exchange, record, jsonAnswer(openAiModel(model)))
      }
      case 'inference': {
        const asked = await readAsked(exchange, route, catalog, share)
        record.model = asked.model
        return this.#inference.serve(exchange, { ...asked, target: targetOf(route.upstreamPath, exchange) }, record)
      }
      case 'pass-through': {
        const model = await readPassThroughModel(exchange, catalog, share)
        record.model = model
        const target = targetOf(route.upstreamPath, exchange)
        return this.#inference.serve(exchange, { model, streamed: false, target }, record)
      }
      case 'health':
        return this.#respond(exchange, record, textAnswer(200, 'ok'))
      case 'readiness':
        if (this.#stopping) return this.#respond(exchange, record, textAnswer(503, 'stopping'))
        if (!catalog.synced) return this.#respond(exchange, record, textAnswer(503, 'the Models are not known yet'))
        return this.#respond(exchange, record, textAnswer(200, 'ok'))
      case 'metrics': {
        const body = await this.#registry.text()
        return this.#respond(exchange, record, {
          status: 200,
          headers: [['content-type', this.#registry.contentType]],
          body,
        })
      }
    }
  }

  async #respond(exchange: Exchange, record: RequestRecord, answer: Answer): Promise<void> {
    record.status = answer.status
    record.bytes = answer.body === undefined ? 0 : Buffer.byteLength(answer.body)
    const isPage = record.route === 'chat-page' || record.route === 'preflight'
    const common = isPage ? record.headers.slice(0, 1) : record.headers
    await exchange.respond({ ...answer, headers: [...common, ...(answer.headers ?? [])] })
  }

  async #answerError(exchange: Exchange, record: RequestRecord, error: unknown): Promise<void> {
    const known = codedError(error)
    if (isClientGone(exchange)) {
      record.status = 499
      record.errorCode = 'client_gone'
      return
    }
    record.status = known.status
    record.errorCode = known.code
    if (known.code === 'internal_error') {
      this.#options.log.error({ requestId: record.requestId, err: error }, 'a request failed inside the gateway')
    }
    if (exchange.responseStarted) throw known
    await exchange.respond(errorAnswer(known, record.headers))
  }
}

function jsonAnswer(value: unknown): Answer {
  return { status: 200, headers: [['content-type', 'application/json']], body: JSON.stringify(value) }
}

function textAnswer(status: number, text: string): Answer {
  return { status, headers: [['content-type', 'text/plain']], body: `${text}\n` }
}

function targetOf(upstreamPath: string, { head }: Exchange): string {
  return head.query === '' ? upstreamPath : `${upstreamPath}?${head.query}`
}
