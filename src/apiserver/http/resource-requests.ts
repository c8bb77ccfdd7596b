import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject, ObjectRef } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import { mostValuesOf } from '../bodies/body-values.ts'
import type { ClusterApi, Deleted, Selection, Subresource, WriteOptions } from '../cluster-api.ts'
import { subresourcesOf } from '../discovery/discovery.ts'
import { parseFieldSelector } from '../reading/field-selector.ts'
import type { HttpExchange } from './http-exchange.ts'
import { parseLabelSelector } from '../reading/label-selector.ts'
import { ObjectView } from '../answers/object-view.ts'
import { patchOf } from '../patches/patch-formats.ts'
import type { PodAccess } from '../pods/pod-access.ts'
import { sendPodLog } from '../pods/pod-log.ts'
import { chooseRepresentation } from '../answers/representation.ts'
import {
  applyPatchType,
  checkVersionMatch,
  readDeletion,
  readFlag,
  readSeconds,
  readWriteOptions,
} from './request-options.ts'
import type { ResourceTarget } from './request-url.ts'
import { scaleOf, scalePathsOf } from '../writing/scale.ts'
import { applyManifestTo } from '../server-side-apply/apply-request.ts'
import type { User } from '../access/identity/user.ts'
import { streamWatch } from '../answers/watch-stream.ts'
import type { WatchSlots } from '../flow-control/watch-slots.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

export interface ResourceRequest {
  readonly exchange: HttpExchange
  readonly target: ResourceTarget
  readonly query: URLSearchParams
  readonly user: User
  /** Throws Forbidden unless the user may also do this: applying to what does not exist creates it. */
  readonly refuseUnless?: (verb: Verb) => void
}

type NamedWrite = ReturnType<typeof readWriteOptions>

const longestWatchSeconds = 3600
const bookmarkEveryMs = 60_000
/** A watch sends a bookmark this long before it ends, so that the next one can resume there. */
const lastBookmarkBeforeEndMs = 2_000

export function verbOf(method: string, target: ResourceTarget, query: URLSearchParams): Verb | undefined {
  const named = target.name !== undefined
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (!named) return readFlag(query, 'watch') ? 'watch' : 'list'
      return 'get'
    case 'POST':
      return named && target.subresource === undefined ? undefined : 'create'
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

/**
 * Requests about objects: does through the ClusterApi what the URL, the query and the body say, and shows the result.
 */
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
    request.exchange.body.mostValues = mostValuesOf(target.kind)
    if (target.kind.deprecationWarning !== undefined) request.exchange.warn(target.kind.deprecationWarning)
    if (target.subresource !== undefined) return this.#handleSubresource(verb, request, target.subresource)
    if (verb === undefined || (target.kind.namespaced && !target.namespace && verb === 'create'))
      throw methodNotAllowed()
    if (target.kind.verbs && !target.kind.verbs.includes(verb)) throw methodNotAllowed()
    const { exchange, query } = request
    const options = readWriteOptions(request)
    switch (verb) {
      case 'get':
        return exchange.sendObject(200, this.#view(request).one(this.#api.get(target.kind, refOf(target))))
      case 'list':
        return this.#list(request)
      case 'watch':
        return this.#watch(request)
      case 'create': {
        const body = await exchange.body.readObject()
        exchange.audited?.about(body)
        const created = await this.#api.create(target.kind, target.namespace, body, options)
        exchange.audited?.named(created.metadata.name)
        return this.#sendWritten(request, 201, created)
      }
      case 'update': {
        const body = await exchange.body.readObject()
        exchange.audited?.about(body)
        const updated = await this.#api.update(target.kind, refOf(target), body, options)
        return this.#sendWritten(request, 200, updated)
      }
      case 'patch':
        return this.#patch(request, undefined, options)
      case 'delete': {
        const { dryRun, ...deletion } = readDeletion(query, await exchange.body.readObject())
        const asked = { ...askedBy(request), dryRun }
        const deleted = await this.#api.delete(target.kind, refOf(target), deletion, asked)
        return exchange.sendJson(200, deletionAnswer(target.kind, deleted, this.#view(request)))
      }
      case 'deletecollection': {
        const { dryRun, ...deletion } = readDeletion(query, await exchange.body.readObject())
        const selection = selectionOf(target, query)
        const options = { ...askedBy(request), dryRun, turns: exchange.ticket, signal: exchange.signal }
        const items = await this.#api.deleteCollection(target.kind, selection, deletion, options)
        return exchange.sendList(200, this.#view(request).list({ items, resourceVersion: String(this.#api.revision) }))
      }
    }
  }

  async #handleSubresource(verb: Verb | undefined, request: ResourceRequest, name: string): Promise<void> {
    const { target, exchange, query } = request
    const { kind } = target
    if (!subresourcesOf(kind).some((subresource) => subresource.name === name)) {
      throw new StatusError('NotFound', 'the server could not find the requested resource')
    }
    if (name === 'log') {
      if (verb !== 'get') throw methodNotAllowed()
      const findPod = () => this.#api.get(kind, refOf(target))
      const asked = { exchange, query, name: target.name ?? '', findPod, clock: this.#api.clock }
      return sendPodLog(asked, this.#podAccess, exchange.signal)
    }
    const subresource = subresourceNamed(name)
    if (verb === 'get' && subresource !== 'finalize') {
      const object =
        subresource === 'scale' ? this.#api.getScale(kind, refOf(target)) : this.#api.get(kind, refOf(target))
      return exchange.sendJson(200, object)
    }
    if (verb === 'patch' && subresource !== 'finalize') {
      return this.#patch(request, subresource, readWriteOptions(request))
    }
    if (verb !== 'update') throw methodNotAllowed()
    const options = readWriteOptions(request)
    const body = await exchange.body.readObject()
    exchange.audited?.about(body)
    const updated = await this.#api.update(kind, refOf(target), body, options, subresource)
    exchange.sendJson(200, subresource === 'scale' ? scaleOf(scalePathsOf(kind), updated) : updated)
  }

  async #apply(request: ResourceRequest, subresource: Subresource | undefined, options: NamedWrite): Promise<void> {
    const { exchange, target, query } = request
    const { kind } = target
    const manifest = await exchange.body.readManifest(options)
    const refuseCreate = () => request.refuseUnless?.('create')
    const { object, created } = await applyManifestTo(this.#api, { kind, ref: refOf(target), subresource }, manifest, {
      ...options,
      force: readFlag(query, 'force'),
      refuseCreate,
    })
    if (subresource === 'scale') return exchange.sendJson(200, scaleOf(scalePathsOf(kind), object))
    this.#sendWritten(request, created ? 201 : 200, object)
  }

  async #patch(request: ResourceRequest, subresource: Subresource | undefined, options: NamedWrite): Promise<void> {
    const { exchange, target } = request
    if (exchange.body.mediaType === applyPatchType) return this.#apply(request, subresource, options)
    // The format is checked before the body is read: a patch in an unknown format may not even be JSON.
    patchOf(target.kind, exchange.body.mediaType, subresource, {})
    const body = await exchange.body.readJson()
    const apply = patchOf(target.kind, exchange.body.mediaType, subresource, body)
    const patched = await this.#api.patch(target.kind, refOf(target), apply, options, subresource)
    if (subresource === 'scale') return exchange.sendJson(200, scaleOf(scalePathsOf(target.kind), patched))
    return this.#sendWritten(request, 200, patched)
  }

  async #list(request: ResourceRequest): Promise<void> {
    const { exchange, target, query } = request
    checkVersionMatch(query, false)
    const version = query.get('resourceVersion') ?? ''
    if (version !== '') this.#api.readVersion(version)
    const asked = {
      ...selectionOf(target, query),
      limit: readSeconds('limit', query.get('limit')),
      continueToken: query.get('continue') ?? undefined,
      scope: `${query.get('labelSelector') ?? ''}?${query.get('fieldSelector') ?? ''}`,
    }
    const page = await this.#api.listInTurns(target.kind, asked, exchange.ticket)
    // How many of the remaining objects match a selector is not known without looking at them.
    const counted = !query.get('labelSelector') && !query.get('fieldSelector')
    exchange.ticket?.bookItems(page.items.length)
    const list = this.#view(request).list(counted ? page : { ...page, remaining: undefined })
    return exchange.sendList(200, list)
  }

  async #watch(request: ResourceRequest): Promise<void> {
    const { exchange, target, query } = request
    checkVersionMatch(query, true)
    const view = this.#view(request)
    const seconds = readSeconds('timeoutSeconds', query.get('timeoutSeconds')) ?? longestWatchSeconds
    const over = new AbortController()
    const signal = AbortSignal.any([exchange.signal, over.signal])
    const sendInitialEvents = readFlag(query, 'sendInitialEvents')
    const version = query.get('resourceVersion') ?? ''
    const fromStart = sendInitialEvents || ((version === '' || version === '0') && !query.has('sendInitialEvents'))
    const fromVersion = fromStart ? undefined : version === '' ? String(this.#api.revision) : version
    const events = this.#api.watch(target.kind, { ...selectionOf(target, query), fromVersion }, signal)
    const release = this.#watches.take(request.user.name)
    const cancel = this.#api.clock.after(Math.min(seconds, longestWatchSeconds) * 1000, () => over.abort())
    try {
      exchange.beginStream('application/json')
      await streamWatch({
        events,
        write: (line) => exchange.write(line),
        line: (type, object, first) => {
          const shown = view.one(object, first)
          return exchange.eventLine(type, shown, shown === object ? this.#api.jsonOf(object) : undefined)
        },
        turns: exchange.ticket,
        bookmark: (revision, initialEventsEnd) => view.bookmark(revision, initialEventsEnd),
        bookmarks: readFlag(query, 'allowWatchBookmarks'),
        bookmarkEveryMs,
        lastBookmarkAfterMs: Math.min(seconds, longestWatchSeconds) * 1000 - lastBookmarkBeforeEndMs,
        currentRevision: () => this.#api.revision,
        clock: this.#api.clock,
      })
      exchange.endStream()
    } finally {
      cancel()
      release()
    }
  }

  /** An object that was just written is encoded already, unless the client wants another representation. */
  #sendWritten(request: ResourceRequest, code: number, object: KubernetesObject): void {
    const shown = this.#view(request).one(object)
    const json = shown === object ? this.#api.jsonOf(object) : undefined
    if (json === undefined) request.exchange.sendObject(code, shown)
    else request.exchange.sendEncoded(code, json)
  }

  #view({ exchange, target, query }: ResourceRequest): ObjectView {
    const representation = chooseRepresentation(exchange.request.headers.accept)
    return new ObjectView(target.kind, representation, query, () => this.#api.clock.now())
  }
}

/** Of who deletes; the options of other writes are not theirs. */
function askedBy({ user, exchange }: ResourceRequest): Pick<WriteOptions, 'user' | 'warn' | 'annotate'> {
  const annotate = (key: string, value: string) => exchange.audited?.annotate(key, value)
  return { user, warn: (warning) => exchange.warn(warning), annotate }
}

function deletionAnswer(kind: Kind, { object, gone }: Deleted, view: ObjectView): unknown {
  if (!gone || kind.deletion?.answersWithObject) return view.one(object)
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
  if (name === 'status' || name === 'scale' || name === 'finalize' || name === 'ephemeralcontainers') return name
  throw new StatusError('NotFound', 'the server could not find the requested resource')
}

function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
}
