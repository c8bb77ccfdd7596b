import type { Kind } from '../resources/kind.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { secretKind } from '../resources/secret.ts'
import { StatusError } from '../resources/status-error.ts'
import { type BoundKind, type ServiceAccountTokens, boundKinds } from './access/service-account-tokens.ts'
import { answerTokenRequest } from './access/token-request.ts'
import type { ClusterApi } from './cluster-api.ts'
import type { PodAccess } from './pod-access.ts'
import { bindPod, done, evictPod } from './pod-placement.ts'
import { readWriteOptions } from './request-options.ts'
import type { ResourceRequest } from './resource-requests.ts'

type Action = (request: ResourceRequest) => Promise<void>

const kindsToBind: Readonly<Record<BoundKind, Kind>> = { Pod: podKind, Secret: secretKind, Node: nodeKind }

/** What Kubernetes has and this cluster does not: refused by name, so that nobody takes it for a mistake of theirs. */
const notOffered = new Set(['pods/ephemeralcontainers', 'pods/resize', 'pods/proxy', 'services/proxy', 'nodes/proxy'])

/** Subresources that are not a side of an object but something done with it. */
export class SubresourceActions {
  readonly #api: ClusterApi
  readonly #podAccess: PodAccess
  readonly #tokens: ServiceAccountTokens | undefined

  constructor(api: ClusterApi, podAccess: PodAccess, tokens: ServiceAccountTokens | undefined) {
    this.#api = api
    this.#podAccess = podAccess
    this.#tokens = tokens
  }

  /** `undefined`: it is not one of them. */
  find({ target }: ResourceRequest): Action | undefined {
    const { kind, subresource } = target
    if (kind.group !== '' || subresource === undefined) return undefined
    const name = `${kind.plural}/${subresource}`
    switch (name) {
      case 'pods/binding':
        return (request) => this.#bind(request)
      case 'pods/eviction':
        return (request) => this.#evict(request)
      case 'serviceaccounts/token':
        return (request) => this.#token(request)
      case 'pods/exec':
        return () => this.#reach(name, 'exec')
      case 'pods/attach':
        return () => this.#reach(name, 'attach')
      case 'pods/portforward':
        return () => this.#reach(name, 'connect')
      default:
        return notOffered.has(name) ? () => refuse(name) : undefined
    }
  }

  async #bind(request: ResourceRequest): Promise<void> {
    requirePost(request)
    const { exchange, target } = request
    const { name = '', namespace } = target
    await bindPod(this.#api, { name, namespace }, await exchange.readObject(), readWriteOptions(request))
    exchange.sendJson(201, done)
  }

  async #evict(request: ResourceRequest): Promise<void> {
    requirePost(request)
    const { exchange, target } = request
    const { name = '', namespace } = target
    await evictPod(this.#api, { name, namespace }, await exchange.readObject(), readWriteOptions(request))
    exchange.sendJson(201, done)
  }

  async #token(request: ResourceRequest): Promise<void> {
    requirePost(request)
    const tokens = this.#tokens
    if (!tokens) return refuse('serviceaccounts/token')
    const { exchange, target } = request
    const { name = '', namespace } = target
    const body = (await exchange.readObject()) ?? {}
    const account = this.#api.get(target.kind, { name, namespace })
    const find = (kind: BoundKind, bound: string) =>
      this.#api.get(kindsToBind[kind], { name: bound, namespace: boundKinds[kind].namespaced ? namespace : undefined })
    exchange.sendJson(201, answerTokenRequest(body, account, { tokens, find, now: this.#api.clock.now() }))
  }

  /** The door is there; until a node offers what is behind it, nothing is upgraded. */
  async #reach(name: string, offer: 'exec' | 'attach' | 'connect'): Promise<void> {
    if (!this.#podAccess[offer]) return refuse(name)
    throw new StatusError('NotImplemented', `${name} cannot be reached over this connection yet`)
  }
}

async function refuse(name: string): Promise<void> {
  throw new StatusError('NotImplemented', `${name} is not offered by this cluster`)
}

function requirePost({ exchange }: ResourceRequest): void {
  if (exchange.request.method === 'POST') return
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}
