import type { IncomingMessage } from 'node:http'
import type { Metrics } from '../../foundation/metrics.ts'
import { resourceNameOf } from '../../resources/kind.ts'
import { metricsGroup } from '../../resources/resource-metrics.ts'
import { StatusError } from '../../resources/status-error.ts'
import { type Attempt, type Decision, attemptOf, forbidden } from '../access/attempt.ts'
import { impersonated } from '../access/identity/impersonation.ts'
import type { Authorizer } from '../access/roles/rbac-authorizer.ts'
import { type ReviewToken, answerReview } from '../access/reviews.ts'
import type { ServiceAccountTokens } from '../access/identity/service-account-tokens.ts'
import { type User, anonymous } from '../access/identity/user.ts'
import { type Authenticator, TokenCredential, credentialsOf } from '../access/identity/authentication.ts'
import type { Audit } from '../audit/audit-event.ts'
import { AuditedRequest, isAudited } from '../audit/audited-request.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { ClusterDocuments } from '../discovery/cluster-documents.ts'
import { subresourcesOf } from '../discovery/discovery.ts'
import type { FlowControl } from '../flow-control/flow-control.ts'
import { callerOf } from '../flow-control/priority-levels.ts'
import { type HealthCheck, healthAnswer, isHealthEndpoint } from './health.ts'
import type { HttpExchange } from './http-exchange.ts'
import { MeasuredRequests } from '../measured/measured-requests.ts'
import { decodeObject } from '../writing/object-decode.ts'
import type { PodAccess } from '../pods/pod-access.ts'
import { readWriteOptions } from './request-options.ts'
import { type ResourceRequest, ResourceRequests, verbOf } from './resource-requests.ts'
import { type RequestUrl, type ResourceTarget, parseResourcePath } from './request-url.ts'
import { Proxies } from '../proxy/proxies.ts'
import { PodStreams } from '../streams/pod-streams.ts'
import { SubresourceActions } from './subresource-actions.ts'
import type { WatchSlots } from '../flow-control/watch-slots.ts'
import { finish } from '../writing/write-phases.ts'

export interface FaceRequest {
  readonly exchange: HttpExchange
  /** The address without the prefix of the cluster. */
  readonly url: RequestUrl
}

/**
 * What a request was about, for metrics and the log. Only names that this server knows, so that their number is
 * bounded.
 */
export interface RequestLabel {
  readonly verb: string
  readonly resource: string
}

export type Describe = (label: RequestLabel) => void

export interface ClusterFaceOptions {
  readonly id: string
  readonly api: ClusterApi
  readonly base: string
  readonly podAccess: PodAccess
  readonly authenticate: Authenticator
  readonly authorizer: Authorizer
  readonly tokens?: ServiceAccountTokens | undefined
  readonly checks: readonly HealthCheck[]
  readonly watches: WatchSlots
  readonly streams: WatchSlots
  readonly flow: FlowControl
  readonly metrics: Metrics
  readonly audit?: Audit | undefined
}

const labelled = new Set(['api', 'apis', 'openapi', 'healthz', 'livez', 'readyz', 'version', 'metrics'])
const reviewGroups = new Set(['authentication.k8s.io', 'authorization.k8s.io'])

/** Handles all requests of one cluster: who asks, whether they may, and what the answer is. */
export class ClusterFace {
  readonly #api: ClusterApi
  readonly #options: ClusterFaceOptions
  readonly #authorizer: Authorizer
  readonly #resources: ResourceRequests
  readonly #actions: SubresourceActions
  readonly #documents: ClusterDocuments
  readonly #measured: MeasuredRequests

  constructor(options: ClusterFaceOptions) {
    const { api, podAccess, tokens, watches, streams, base } = options
    this.#api = api
    this.#options = options
    this.#authorizer = options.authorizer
    this.#resources = new ResourceRequests(api, podAccess, watches)
    const podStreams = new PodStreams(api, podAccess, streams)
    this.#actions = new SubresourceActions(api, tokens, podStreams, new Proxies(api, streams))
    this.#documents = new ClusterDocuments(api, base, tokens)
    this.#measured = new MeasuredRequests(api, podAccess)
  }

  handle({ exchange, url }: FaceRequest, describe: Describe): Promise<void> {
    const { request } = exchange
    const method = request.method ?? ''
    const target = parseResourcePath(this.#api.kinds, url.segments)
    describe(labelOf(method, url, target))
    const attempt = attemptOf(method, url.segments, url.query)
    exchange.audited = this.#audited(request, attempt, url.segments)
    const user = this.#user(exchange)
    this.#refuseUnless(user, attempt, (decision) => exchange.audited?.decided(decision))
    if (target) {
      const refuseUnless = (verb: string) => this.#refuseUnless(user, { ...attempt, verb })
      const resource = { exchange, target, query: url.query, user, refuseUnless }
      return this.#inTurn(exchange, user, target, () => this.#handleResource(resource))
    }
    if (method !== 'GET' && method !== 'HEAD') throw nothingThere()
    // Health must be answered however busy the server is.
    if (isHealthEndpoint(url.segments[0])) return this.#handlePath(exchange, url)
    return this.#inTurn(exchange, user, undefined, () => this.#handlePath(exchange, url))
  }

  /**
   * Reads the body first, so that a slow sender keeps only itself waiting; then does the work when it is this caller's
   * turn.
   */
  async #inTurn(
    exchange: HttpExchange,
    user: User,
    target: ResourceTarget | undefined,
    handle: () => Promise<void>,
  ): Promise<void> {
    const { method, headers } = exchange.request
    const ticket = this.#options.flow.arrive(callerOf(user, this.#options.base, target?.namespace))
    exchange.ticket = ticket
    try {
      const reads = method === 'GET' || method === 'HEAD'
      const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
      // A body that is meant for a Pod is not read here.
      const isOurs = target?.subresource !== 'proxy'
      if (!reads && hasBody && isOurs) await exchange.body.gather()
      const turn = ticket.enter(!reads)
      if (turn) {
        await turn
        if (exchange.isGone) return
      }
      await handle()
      if (exchange.taken) await exchange.taken
    } finally {
      ticket.leave()
    }
  }

  #audited(request: IncomingMessage, attempt: Attempt, segments: readonly string[]): AuditedRequest | undefined {
    const { audit: write, id: clusterId, api } = this.#options
    if (!write || !isAudited(attempt)) return undefined
    return new AuditedRequest({ request, attempt, segments, clusterId, clock: api.clock, write })
  }

  maySeeMetrics(request: IncomingMessage): boolean {
    const user = this.#identify(request)
    return !!user && this.#authorizer.decide(user, { type: 'path', verb: 'get', path: '/metrics' }).allowed
  }

  #user({ request, audited }: HttpExchange): User {
    const user = this.#identify(request)
    // An invalid token, an expired one and one of another cluster get the same answer.
    if (!user) throw new StatusError('Unauthorized', 'Unauthorized')
    audited?.by(user)
    const as = impersonated(user, request, this.#authorizer)
    if (as !== user) audited?.by(user, as)
    return as
  }

  #identify(request: IncomingMessage): User | undefined {
    const { credentials, any } = credentialsOf(request)
    if (!any) return anonymous
    for (const credential of credentials) {
      const user = this.#options.authenticate(credential)
      if (user) return user
    }
    return undefined
  }

  #refuseUnless(user: User, attempt: Attempt, tell?: (decision: Decision) => void): void {
    const decision = this.#authorizer.decide(user, attempt)
    tell?.(decision)
    const { allowed, reason } = decision
    if (!allowed) throw forbidden(user, attempt, reason)
  }

  #handleResource(request: ResourceRequest): Promise<void> {
    const { exchange, target, query } = request
    if (reviewGroups.has(target.kind.group)) return this.#review(request)
    if (target.kind.group === metricsGroup) return this.#measured.handle(request)
    const act = this.#actions.find(request)
    if (act) return act(request)
    return this.#resources.handle(verbOf(exchange.request.method ?? '', target, query), request)
  }

  async #review({ exchange, target, query, user }: ResourceRequest): Promise<void> {
    const { kind, namespace, name } = target
    if (exchange.request.method !== 'POST' || name !== undefined) throw methodNotAllowed()
    const { fieldValidation = 'Warn' } = readWriteOptions({ exchange, query, user })
    const warn = (warning: string) => exchange.warn(warning)
    const body = finish(decodeObject(kind, await exchange.body.readObject(), { fieldValidation, warn }))
    const review = { kind, namespace, body, user, now: this.#api.clock.now() }
    const answer = answerReview(review, this.#authorizer, this.#reviewToken)
    if (!answer) throw nothingThere()
    exchange.sendJson(201, answer)
  }

  readonly #reviewToken: ReviewToken = (text, audiences) => {
    const { tokens, authenticate } = this.#options
    const token = new TokenCredential(text)
    const own = tokens?.defaultAudiences ?? []
    const wanted = audiences.length > 0 ? audiences : own
    const known = tokens?.verify(token, this.#api.clock.now(), wanted)
    if (known) return known
    // Tokens that name no audience are for this server.
    const common = wanted.filter((audience) => own.includes(audience))
    const user = common.length > 0 || audiences.length === 0 ? authenticate(token) : undefined
    return user && { user, audiences: common }
  }

  async #handlePath(exchange: HttpExchange, { segments, query }: RequestUrl): Promise<void> {
    const [first, ...beyond] = segments
    const { checks, metrics } = this.#options
    if (isHealthEndpoint(first)) {
      const { code, text } = healthAnswer(first, beyond, query, checks)
      return exchange.sendText(code, text)
    }
    if (first === 'metrics' && beyond.length === 0) {
      return exchange.sendText(200, await metrics.text(), metrics.contentType)
    }
    const document = await this.#documents.find(exchange.request, segments, exchange.ticket)
    if (!document) throw nothingThere()
    if ('bytes' in document) exchange.sendTagged(document)
    else if ('parts' in document) exchange.sendParts(200, document.parts)
    else exchange.sendJson(200, document.value, document.type)
  }
}

function labelOf(method: string, { segments, query }: RequestUrl, target: ResourceTarget | undefined): RequestLabel {
  const [root = ''] = segments
  if (!target) return { verb: 'get', resource: labelled.has(root) ? root : 'other' }
  const verb = verbOf(method, target, query) ?? 'unknown'
  if (target.subresource === undefined) return { verb, resource: resourceNameOf(target.kind) }
  const known = subresourcesOf(target.kind).some(({ name }) => name === target.subresource)
  return { verb, resource: `${resourceNameOf(target.kind)}/${known ? target.subresource : 'other'}` }
}

function nothingThere(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource')
}

function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}
