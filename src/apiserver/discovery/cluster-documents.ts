import type { IncomingMessage } from 'node:http'
import type { ServiceAccountTokens } from '../access/identity/service-account-tokens.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { aggregatedDiscovery, coreVersions, groupList, oneGroup, resourceList } from './discovery.ts'
import { openApiDocument, openApiIndex } from './openapi.ts'
import { type EncodedDocument, openApiV2Answer } from './openapi-v2-answer.ts'
import { wantsAggregatedDiscovery } from '../answers/representation.ts'
import { serverVersion } from '../http/server-version.ts'

export type ClusterDocument = JsonDocument | EncodedDocument

export interface JsonDocument {
  readonly value: unknown
  /** The media type; JSON unless it is given. */
  readonly type?: string
}

const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const rootPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/api/v1',
  '/apis',
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openid/v1/jwks',
  '/readyz',
  '/version',
]

/** The documents a cluster publishes about itself: its version, what it serves, and how its tokens are verified. */
export class ClusterDocuments {
  readonly #api: ClusterApi
  readonly #base: string
  readonly #tokens: ServiceAccountTokens | undefined

  constructor(api: ClusterApi, base: string, tokens: ServiceAccountTokens | undefined) {
    this.#api = api
    this.#base = base
    this.#tokens = tokens
  }

  find(request: IncomingMessage, segments: readonly string[]): ClusterDocument | undefined {
    const kinds = this.#api.kinds.list()
    const [root, first, second, ...rest] = segments
    switch (root) {
      case undefined:
        return { value: { paths: rootPaths } }
      case 'version':
        return first === undefined ? { value: serverVersion } : undefined
      case 'api':
      case 'apis':
        if (first === undefined) return this.#discoveryRoot(request, root)
        if (root === 'api') return found(second === undefined ? resourceList(kinds, '', first) : undefined)
        if (second === undefined) return found(oneGroup(kinds, first))
        return found(rest.length === 0 ? resourceList(kinds, first, second) : undefined)
      case 'openapi':
        if (first === 'v2' && second === undefined) return openApiV2Answer(kinds, request.headers.accept)
        if (first !== 'v3') return undefined
        if (second === undefined) return { value: openApiIndex(kinds, this.#base) }
        return found(openApiDocument(kinds, [second, ...rest].join('/')))
      case '.well-known':
      case 'openid':
        return this.#issuer(request, segments.join('/'))
      default:
        return undefined
    }
  }

  #discoveryRoot({ headers }: IncomingMessage, root: 'api' | 'apis'): ClusterDocument {
    if (wantsAggregatedDiscovery(headers.accept)) {
      return { value: aggregatedDiscovery(this.#api.kinds.list(), root), type: aggregatedType }
    }
    return { value: root === 'api' ? coreVersions(headers.host ?? '') : groupList(this.#api.kinds.list()) }
  }

  /** OpenID Connect discovery, by which others verify tokens of service accounts themselves. */
  #issuer({ headers }: IncomingMessage, path: string): ClusterDocument | undefined {
    const tokens = this.#tokens
    if (!tokens) return undefined
    if (path === 'openid/v1/jwks') return { value: { keys: [tokens.key.webKey] }, type: 'application/jwk-set+json' }
    if (path !== '.well-known/openid-configuration') return undefined
    return {
      value: {
        issuer: tokens.issuer,
        jwks_uri: `https://${headers.host ?? ''}${this.#base}/openid/v1/jwks`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      },
    }
  }
}

function found(value: unknown): ClusterDocument | undefined {
  return value === undefined ? undefined : { value }
}
