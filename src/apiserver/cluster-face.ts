import { StatusError } from '../resources/status-error.ts'
import { resourceNameOf } from '../resources/kind.ts'
import { type Authorizer, type User } from './authentication.ts'
import type { ClusterApi } from './cluster-api.ts'
import { aggregatedDiscovery, coreVersions, groupList, oneGroup, resourceList, subresourcesOf } from './discovery.ts'
import type { HttpExchange } from './http-exchange.ts'
import { openApiDocument, openApiIndex, openApiV2 } from './openapi.ts'
import type { PodAccess } from './pod-access.ts'
import { wantsAggregatedDiscovery } from './representation.ts'
import { ResourceRequests, type Verb, verbOf } from './resource-requests.ts'
import { type RequestUrl, type ResourceTarget, parseResourcePath } from './request-url.ts'
import type { WatchSlots } from './watch-slots.ts'

export interface FaceRequest {
  readonly exchange: HttpExchange
  /** Without the prefix of the cluster. */
  readonly url: RequestUrl
  readonly user: User
  readonly signal: AbortSignal
}

/** What a request turned out to be about, for metrics and the log: only names this server knows, so that there are few. */
export interface RequestLabel {
  readonly verb: string
  readonly resource: string
}

const documentRoots = new Set(['api', 'apis', 'openapi'])
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Everything of one cluster that needs a known user: objects, discovery, OpenAPI. */
export class ClusterFace {
  readonly #api: ClusterApi
  readonly #base: string
  readonly #authorize: Authorizer
  readonly #resources: ResourceRequests
  /** Kinds do not change while a cluster is served, and the schemas take a while to write out. */
  #openApiIndex: Record<string, unknown> | undefined

  constructor(options: {
    api: ClusterApi
    base: string
    podAccess: PodAccess
    authorize: Authorizer
    watches: WatchSlots
  }) {
    this.#api = options.api
    this.#base = options.base
    this.#authorize = options.authorize
    this.#resources = new ResourceRequests(options.api, options.podAccess, options.watches)
  }

  describe({ exchange, url }: Pick<FaceRequest, 'exchange' | 'url'>): RequestLabel {
    const target = parseResourcePath(this.#api.kinds, url.segments)
    const [root = ''] = url.segments
    if (!target) return { verb: 'get', resource: documentRoots.has(root) ? root : 'other' }
    const verb = verbOf(exchange.request.method ?? '', target, url.query) ?? 'unknown'
    if (target.subresource === undefined) return { verb, resource: resourceNameOf(target.kind) }
    const known = subresourcesOf(target.kind).some(({ name }) => name === target.subresource)
    return { verb, resource: `${resourceNameOf(target.kind)}/${known ? target.subresource : 'other'}` }
  }

  async handle(request: FaceRequest): Promise<void> {
    const { exchange, url } = request
    const target = parseResourcePath(this.#api.kinds, url.segments)
    if (target) return this.#handleResource(request, target)
    if (exchange.request.method !== 'GET' && exchange.request.method !== 'HEAD') throw nothingThere()
    this.#refuseUnlessAllowed(request, 'get', `/${url.segments.join('/')}`)
    const document = this.#document(request)
    if (!document) throw nothingThere()
    exchange.sendJson(200, document.value, document.type)
  }

  async #handleResource(request: FaceRequest, target: ResourceTarget): Promise<void> {
    const { exchange, url, user, signal } = request
    const verb = verbOf(exchange.request.method ?? '', target, url.query)
    this.#refuseUnlessAllowed(request, verb ?? 'unknown', resourceNameOf(target.kind), target)
    await this.#resources.handle(verb, { exchange, target, query: url.query, userName: user.name, signal })
  }

  #refuseUnlessAllowed({ user }: FaceRequest, verb: Verb | 'unknown', resource: string, target?: ResourceTarget): void {
    const { namespace, name, subresource } = target ?? {}
    const why = this.#authorize({ user, verb, resource, namespace, name, subresource })
    if (why !== undefined) throw new StatusError('Forbidden', why, { kind: target?.kind.plural, name })
  }

  #document({ exchange, url }: FaceRequest): { value: unknown; type?: string } | undefined {
    const { kinds } = this.#api
    const [root, first, second, ...rest] = url.segments
    switch (root) {
      case undefined:
        return {
          value: {
            paths: [
              '/api',
              '/api/v1',
              '/apis',
              '/healthz',
              '/livez',
              '/openapi/v2',
              '/openapi/v3',
              '/readyz',
              '/version',
            ],
          },
        }
      case 'api':
      case 'apis':
        if (first === undefined) return this.#discoveryRoot(exchange, root)
        if (root === 'api') return found(second === undefined ? resourceList(kinds, '', first) : undefined)
        if (second === undefined) return found(oneGroup(kinds, first))
        return found(rest.length === 0 ? resourceList(kinds, first, second) : undefined)
      case 'openapi':
        if (first === 'v2' && second === undefined) return { value: openApiV2() }
        if (first !== 'v3') return undefined
        if (second === undefined) return { value: (this.#openApiIndex ??= openApiIndex(kinds, this.#base)) }
        return found(openApiDocument(kinds, [second, ...rest].join('/')))
      default:
        return undefined
    }
  }

  #discoveryRoot({ request }: HttpExchange, root: 'api' | 'apis'): { value: unknown; type?: string } {
    if (wantsAggregatedDiscovery(request.headers.accept)) {
      return { value: aggregatedDiscovery(this.#api.kinds, root), type: aggregatedType }
    }
    return { value: root === 'api' ? coreVersions(request.headers.host ?? '') : groupList(this.#api.kinds) }
  }
}

function found(value: unknown): { value: unknown } | undefined {
  return value === undefined ? undefined : { value }
}

function nothingThere(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource')
}
