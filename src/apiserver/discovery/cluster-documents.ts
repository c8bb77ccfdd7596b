import type { IncomingMessage } from 'node:http'
import type { ServiceAccountTokens } from '../access/identity/service-account-tokens.ts'
import type { ClusterApi } from '../cluster-api.ts'
import type { Turns } from '../flow-control/flow-control.ts'
import type { Kind } from '../../resources/kind.ts'
import { type Phases, PlainTurns, inTurns } from '../writing/write-phases.ts'
import { jsonPieces } from './json-pieces.ts'
import { aggregatedDiscovery, coreVersions, groupList, oneGroup, resourceList } from './discovery.ts'
import type { JsonSchema } from './openapi-schemas.ts'
import { openApiDocument, openApiIndex } from './openapi.ts'
import { type EncodedDocument, openApiV2Answer, openApiV2Type } from './openapi-v2-answer.ts'
import { wantsAggregatedDiscovery } from '../answers/representation.ts'
import { serverVersion } from '../http/server-version.ts'

export type ClusterDocument = JsonDocument | EncodedDocument | DocumentParts

/** JSON in pieces. */
export interface DocumentParts {
  readonly parts: readonly Buffer[]
}

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
  /** Of definitions that may have very many fields: each is made in turns, and once for all who ask meanwhile. */
  readonly #making = new WeakMap<readonly Kind[], Map<string, Promise<ClusterDocument | undefined>>>()

  constructor(api: ClusterApi, base: string, tokens: ServiceAccountTokens | undefined) {
    this.#api = api
    this.#base = base
    this.#tokens = tokens
  }

  /** `turns`: those of whoever asks. Who asks for what is being made already waits for it. */
  async find(
    request: IncomingMessage,
    segments: readonly string[],
    turns: Turns = new PlainTurns(() => performance.now()),
  ): Promise<ClusterDocument | undefined> {
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
        return this.#openApi(kinds, segments.slice(1), request.headers.accept, turns)
      case '.well-known':
      case 'openid':
        return this.#issuer(request, segments.join('/'))
      default:
        return undefined
    }
  }

  #openApi(
    kinds: readonly Kind[],
    [version, ...path]: readonly string[],
    accept: string | undefined,
    turns: Turns,
  ): Promise<ClusterDocument | undefined> | undefined {
    if (version === 'v2' && path.length === 0) {
      return this.#made(kinds, `v2 ${openApiV2Type(accept)}`, () => inTurns(openApiV2Answer(kinds, accept), turns))
    }
    if (version !== 'v3') return undefined
    const name = path.join('/')
    return this.#made(kinds, `v3 ${name}`, () =>
      name === ''
        ? inTurns(valueOf(openApiIndex(kinds, this.#base)), turns)
        : inTurns(partsOf(openApiDocument(kinds, name)), turns),
    )
  }

  #made(
    kinds: readonly Kind[],
    name: string,
    make: () => ClusterDocument | undefined | Promise<ClusterDocument | undefined>,
  ): Promise<ClusterDocument | undefined> {
    const making = this.#making.get(kinds) ?? new Map<string, Promise<ClusterDocument | undefined>>()
    this.#making.set(kinds, making)
    const known = making.get(name)
    if (known) return known
    const made = (async () => make())().finally(() => making.delete(name))
    making.set(name, made)
    return made
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

function* valueOf(phases: Phases<unknown>): Phases<JsonDocument> {
  return { value: yield* phases }
}

function* partsOf(phases: Phases<JsonSchema | undefined>): Phases<DocumentParts | undefined> {
  const document = yield* phases
  if (!document) return undefined
  const parts: Buffer[] = []
  yield* jsonPieces(document, (text) => void parts.push(Buffer.from(text)))
  return { parts: [...parts, Buffer.from('\n')] }
}

function found(value: unknown): ClusterDocument | undefined {
  return value === undefined ? undefined : { value }
}
