import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject, ObjectRef } from '../resources/kubernetes-object.ts'
import { StatusError } from '../resources/status-error.ts'
import type { ClusterApi, Deleted, Selection, Subresource } from './cluster-api.ts'
import { subresourcesOf } from './discovery.ts'
import { parseFieldSelector } from './field-selector.ts'
import type { HttpExchange } from './http-exchange.ts'
import { parseLabelSelector } from './label-selector.ts'
import { ObjectView } from './object-view.ts'
import { patchOf } from './patch-formats.ts'
import type { PodAccess } from './pod-access.ts'
import { sendPodLog } from './pod-log.ts'
import { chooseRepresentation } from './representation.ts'
import { readDeletion, readFlag, readSeconds, readWriteOptions } from './request-options.ts'
import type { ResourceTarget } from './request-url.ts'
import { streamWatch } from './watch-stream.ts'
import type { WatchSlots } from './watch-slots.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

export interface ResourceRequest {
  readonly exchange: HttpExchange
  readonly target: ResourceTarget
  readonly query: URLSearchParams
  readonly userName: string
  /** Aborted when the client has left or the server stops. */
  readonly signal: AbortSignal
}

const longestWatchSeconds = 3600
const bookmarkEveryMs = 60_000
/** Real subresources that this server does not serve yet: refused by name instead of as unknown. */
const notServed = new Set([
  'exec',
  'attach',
  'portforward',
  'proxy',
  'binding',
  'eviction',
  'ephemeralcontainers',
  'resize',
])
const returnsTheDeleted = new Set(['Pod', 'Service', 'PersistentVolumeClaim'])

export function verbOf(method: string, target: ResourceTarget, query: URLSearchParams): Verb | undefined {
  const named = target.name !== undefined
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (!named) return readFlag(query, 'watch') ? 'watch' : 'list'
      return 'get'
    case 'POST':
      return named ? undefined : 'create'
    case 'PUT':
      return named ? 'update' : undefined
    case 'PATCH':
      return named ? 'patch' : undefined
    case 'DELETE':
      if (target.subresource !== undefined) return undefined
      return named ? 'delete' : 'deletecollection'
    default:
      return undefined
  }
}

/** Requests about objects: what the URL, the query and the body say is done through the ClusterApi and shown. */
export class ResourceRequests {
  readonly #api: ClusterApi
  readonly #podAccess: PodAccess
  readonly #watches: WatchSlots

  constructor(api: ClusterApi, podAccess: PodAccess, watches: WatchSlots) {
    this.#api = api
    this.#podAccess = podAccess
    this.#watches = watches
  }

  async handle(verb: Verb | undefined, request: ResourceRequest): Promise<void> {
    const { target } = request
    if (target.subresource !== undefined) return this.#handleSubresource(verb, request, target.subresource)
    if (verb === undefined || (target.kind.namespaced && !target.namespace && verb === 'create'))
      throw methodNotAllowed()
    const { exchange, query } = request
    const options = readWriteOptions(query, (warning) => exchange.warn(warning))
    switch (verb) {
      case 'get':
        return exchange.sendJson(200, this.#view(request).one(this.#api.get(target.kind, refOf(target))))
      case 'list':
        return this.#list(request)
      case 'watch':
        return this.#watch(request)
      case 'create': {
        const body = await exchange.readObject()
        const created = await this.#api.create(target.kind, target.namespace, body, options)
        return exchange.sendJson(201, this.#view(request).one(created))
      }
      case 'update': {
        const body = await exchange.readObject()
        const updated = await this.#api.update(target.kind, refOf(target), body, options)
        return exchange.sendJson(200, this.#view(request).one(updated))
      }
      case 'patch':
        return this.#patch(request, undefined)
      case 'delete': {
        const { dryRun, ...deletion } = readDeletion(query, await exchange.readObject())
        const deleted = await this.#api.delete(target.kind, refOf(target), deletion, { dryRun })
        return exchange.sendJson(200, deletionAnswer(target.kind, deleted, this.#view(request)))
      }
      case 'deletecollection': {
        const { dryRun, ...deletion } = readDeletion(query, await exchange.readObject())
        const selection = selectionOf(target, query)
        const items = await this.#api.deleteCollection(target.kind, selection, deletion, { dryRun })
        return exchange.sendJson(200, this.#view(request).list({ items, resourceVersion: String(this.#api.revision) }))
      }
    }
  }

  async #handleSubresource(verb: Verb | undefined, request: ResourceRequest, name: string): Promise<void> {
    const { target, exchange, query } = request
    const { kind } = target
    if (!subresourcesOf(kind).some((subresource) => subresource.name === name)) {
      if (kind.unknownFields === 'keep' && notServed.has(name)) {
        throw new StatusError('NotImplemented', `${kind.plural}/${name} is not served by this cluster yet`)
      }
      throw new StatusError('NotFound', 'the server could not find the requested resource')
    }
    if (name === 'log') {
      if (verb !== 'get') throw methodNotAllowed()
      return sendPodLog(exchange, query, this.#api.get(kind, refOf(target)), this.#podAccess, request.signal)
    }
    const subresource = subresourceNamed(name)
    if (verb === 'get' && subresource !== 'finalize') {
      const object =
        subresource === 'scale' ? this.#api.getScale(kind, refOf(target)) : this.#api.get(kind, refOf(target))
      return exchange.sendJson(200, object)
    }
    if (verb === 'patch' && subresource !== 'finalize') return this.#patch(request, subresource)
    if (verb !== 'update') throw methodNotAllowed()
    const options = readWriteOptions(query, (warning) => exchange.warn(warning))
    const updated = await this.#api.update(kind, refOf(target), await exchange.readObject(), options, subresource)
    exchange.sendJson(200, subresource === 'scale' ? this.#scaleOf(kind, target, updated) : updated)
  }

  async #patch(request: ResourceRequest, subresource: Subresource | undefined): Promise<void> {
    const { exchange, target, query } = request
    // The format is judged before the body: a patch in a foreign one may not even be JSON.
    patchOf(target.kind, exchange.mediaType, subresource, {})
    const body = await exchange.readJson()
    const options = readWriteOptions(query, (warning) => exchange.warn(warning))
    const apply = patchOf(target.kind, exchange.mediaType, subresource, body)
    const patched = await this.#api.patch(target.kind, refOf(target), apply, options, subresource)
    if (subresource === 'scale') return exchange.sendJson(200, this.#scaleOf(target.kind, target, patched))
    return exchange.sendJson(200, this.#view(request).one(patched))
  }

  #list(request: ResourceRequest): void {
    const { exchange, target, query } = request
    const version = query.get('resourceVersion') ?? ''
    if (version !== '') this.#api.readVersion(version)
    const page = this.#api.list(target.kind, {
      ...selectionOf(target, query),
      limit: readSeconds('limit', query.get('limit')),
      continueToken: query.get('continue') ?? undefined,
      scope: `${query.get('labelSelector') ?? ''}?${query.get('fieldSelector') ?? ''}`,
    })
    exchange.sendJson(200, this.#view(request).list(page))
  }

  async #watch(request: ResourceRequest): Promise<void> {
    const { exchange, target, query } = request
    const view = this.#view(request)
    const seconds = readSeconds('timeoutSeconds', query.get('timeoutSeconds')) ?? longestWatchSeconds
    const over = new AbortController()
    const signal = AbortSignal.any([request.signal, over.signal])
    const sendInitialEvents = readFlag(query, 'sendInitialEvents')
    const version = query.get('resourceVersion') ?? ''
    const fromStart = sendInitialEvents || ((version === '' || version === '0') && !query.has('sendInitialEvents'))
    const fromVersion = fromStart ? undefined : version === '' ? String(this.#api.revision) : version
    const events = this.#api.watch(target.kind, { ...selectionOf(target, query), fromVersion }, signal)
    const release = this.#watches.take(request.userName)
    const cancel = this.#api.clock.after(Math.min(seconds, longestWatchSeconds) * 1000, () => over.abort())
    try {
      exchange.beginStream('application/json')
      await streamWatch({
        events,
        write: (line) => exchange.write(line),
        show: (object, first) => view.one(object, first),
        bookmark: (revision, initialEventsEnd) => view.bookmark(revision, initialEventsEnd),
        bookmarks: readFlag(query, 'allowWatchBookmarks'),
        sendInitialEvents,
        bookmarkEveryMs,
        currentRevision: () => this.#api.revision,
        clock: this.#api.clock,
      })
      exchange.endStream()
    } finally {
      cancel()
      release()
    }
  }

  #view({ exchange, target, query }: ResourceRequest): ObjectView {
    const representation = chooseRepresentation(exchange.request.headers.accept)
    return new ObjectView(target.kind, representation, query, () => this.#api.clock.now())
  }

  #scaleOf(kind: Kind, target: ResourceTarget, updated: KubernetesObject): KubernetesObject {
    return { ...this.#api.getScale(kind, refOf(target)), metadata: updated.metadata }
  }
}

function deletionAnswer(kind: Kind, { object, gone }: Deleted, view: ObjectView): unknown {
  if (!gone || (kind.group === '' && returnsTheDeleted.has(kind.kind))) return view.one(object)
  const { name, uid } = object.metadata
  const details = { name, ...(kind.group !== '' && { group: kind.group }), kind: kind.plural, uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}

function selectionOf({ kind, namespace }: ResourceTarget, query: URLSearchParams): Selection {
  return {
    namespace,
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(kind, query.get('fieldSelector') ?? ''),
  }
}

function refOf({ namespace, name = '' }: ResourceTarget): ObjectRef {
  return { namespace, name }
}

function subresourceNamed(name: string): Subresource {
  if (name === 'status' || name === 'scale' || name === 'finalize') return name
  throw new StatusError('NotFound', 'the server could not find the requested resource')
}

function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}
