import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { JsonObject } from '../../resources/json-value.ts'
import { type BoundKind, type ServiceAccountTokens, boundKinds } from '../access/identity/service-account-tokens.ts'
import { answerTokenRequest, tokenRequestKind } from '../access/identity/token-request.ts'
import type { RequestPart } from '../admission/admission.ts'
import type { ClusterApi } from '../cluster-api.ts'
import type { WriteOptions } from '../api-requests.ts'
import { bindPod, done, evictPod, readNamed } from '../pods/pod-placement.ts'
import { type Proxies, splitProxyUrl } from '../proxy/proxies.ts'
import type { PartRequest } from '../writing/object-writes.ts'
import { connectPart } from './connect-options.ts'
import { readWriteOptions } from './request-options.ts'
import type { ResourceRequest } from './resource-requests.ts'
import type { PodStreams } from '../streams/pod-streams.ts'

type Action = (request: ResourceRequest) => Promise<void>

const kindsToBind: Readonly<Record<BoundKind, Kind>> = { Pod: podKind, Secret: secretKind, Node: nodeKind }

/** Subresources that are actions rather than parts of an object. */
export class SubresourceActions {
  readonly #api: ClusterApi
  readonly #tokens: ServiceAccountTokens | undefined
  readonly #streams: PodStreams
  readonly #proxies: Proxies

  constructor(api: ClusterApi, tokens: ServiceAccountTokens | undefined, streams: PodStreams, proxies: Proxies) {
    this.#api = api
    this.#tokens = tokens
    this.#streams = streams
    this.#proxies = proxies
  }

  /** `undefined`: the subresource is not an action. */
  find({ target }: ResourceRequest): Action | undefined {
    const { kind, subresource } = target
    if (subresource === undefined) return undefined
    const name = `${resourceNameOf(kind)}/${subresource}`
    // Refused by name, so that nobody takes it for a mistake of their own.
    if (kind.refusedSubresources?.includes(subresource)) return () => refuse(name)
    switch (name) {
      case 'pods/binding':
        return (request) => this.#bind(request)
      case 'pods/eviction':
        return (request) => this.#evict(request)
      case 'serviceaccounts/token':
        return (request) => this.#token(request)
      default: {
        const connect = this.#connection(name)
        return connect && ((request) => this.#connect(name, request, connect))
      }
    }
  }

  #connection(name: string): Action | undefined {
    switch (name) {
      case 'pods/exec':
        return (request) => this.#streams.exec(request)
      case 'pods/attach':
        return (request) => this.#streams.attach(request)
      case 'pods/portforward':
        return (request) => this.#streams.portForward(request)
      case 'pods/proxy':
        return (request) => this.#proxies.pod(request)
      case 'services/proxy':
        return (request) => this.#proxies.service(request)
      default:
        return undefined
    }
  }

  /** Policies are asked before anything is looked for: whom they refuse learns nothing of what is there. */
  async #connect(name: string, request: ResourceRequest, connect: Action): Promise<void> {
    const { path } = splitProxyUrl(request.exchange.request.url ?? '')
    const part = connectPart(name, request.query, path)
    if (part) this.#api.judge(partRequest('connect', request, part), askerOf(request))
    await connect(request)
  }

  async #bind(request: ResourceRequest): Promise<void> {
    requirePost(request)
    const { exchange, target } = request
    const { name = '', namespace } = target
    const options = readWriteOptions(request)
    const binding = readNamed('Binding', await exchange.body.readObject(), { name, namespace })
    this.#api.judge(partRequest('create', request, bindingPart(binding)), options)
    await bindPod(this.#api, { name, namespace }, binding, { ...options, isJudged: true })
    exchange.sendJson(201, done)
  }

  async #evict(request: ResourceRequest): Promise<void> {
    requirePost(request)
    const { exchange, target } = request
    const { name = '', namespace } = target
    const options = readWriteOptions(request)
    const eviction = readNamed('Eviction', await exchange.body.readObject(), { name, namespace })
    this.#api.judge(partRequest('create', request, evictionPart(eviction)), options)
    await evictPod(this.#api, { name, namespace }, eviction, { ...options, isJudged: true })
    exchange.sendJson(201, done)
  }

  async #token(request: ResourceRequest): Promise<void> {
    requirePost(request)
    const tokens = this.#tokens
    if (!tokens) return refuse('serviceaccounts/token')
    const { exchange, target } = request
    const { name = '', namespace } = target
    const body = (await exchange.body.readObject()) ?? {}
    const account = this.#api.get(target.kind, { name, namespace })
    const find = (kind: BoundKind, bound: string) =>
      this.#api.get(kindsToBind[kind], { name: bound, namespace: boundKinds[kind].namespaced ? namespace : undefined })
    const judge = (object: JsonObject) => {
      this.#api.judge(partRequest('create', request, { kind: tokenRequestKind, object }), readWriteOptions(request))
    }
    exchange.sendJson(201, answerTokenRequest(body, account, { tokens, find, judge, now: this.#api.clock.now() }))
  }
}

function partRequest(operation: 'create' | 'connect', { target }: ResourceRequest, part: RequestPart): PartRequest {
  const { kind, name = '', namespace, subresource = '' } = target
  return { operation, kind, ref: { name, namespace }, subresource, part }
}

/** A connection is no write: it has no manager and no dry run. */
function askerOf({ user, exchange }: ResourceRequest): WriteOptions {
  const annotate = (key: string, value: string) => exchange.audited?.annotate(key, value)
  return { user, warn: (warning) => exchange.warn(warning), annotate }
}

function bindingPart(binding: JsonObject): RequestPart {
  const kind = { group: '', version: 'v1', kind: 'Binding' }
  return { kind, object: { ...binding, kind: 'Binding', apiVersion: 'v1' } }
}

function evictionPart(eviction: JsonObject): RequestPart {
  const kind = { group: 'policy', version: 'v1', kind: 'Eviction' }
  return { kind, object: { ...eviction, kind: 'Eviction', apiVersion: 'policy/v1' } }
}

async function refuse(name: string): Promise<void> {
  throw new StatusError('NotImplemented', `${name} is not offered by this cluster`)
}

function requirePost({ exchange }: ResourceRequest): void {
  if (exchange.request.method === 'POST') return
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}
