import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { type Kind, apiVersionOf, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import { StatusError, isStatusError, notFound } from '../resources/status-error.ts'
import type {
  ClusterClient,
  DeleteOptions,
  ListOptions,
  MergePatch,
  NewObject,
  ObjectList,
  WatchEvent,
  WatchOptions,
} from './cluster-client.ts'
import { jsonLines } from './kubernetes/json-lines.ts'
import { KubernetesConnection } from './kubernetes/kubernetes-connection.ts'
import { selectorText, resourcePath } from './kubernetes/resource-path.ts'
import { statusErrorOf } from './kubernetes/status-response.ts'

const pageSize = 500
const longestWatchSeconds = 300
const longestEvent = 8 * 1024 * 1024
/** How often a change is attempted when others write in between. */
const mostAttempts = 8
const firstPauseMs = 5

const listSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.unknown()).nullable(),
})
const eventSchema = z.looseObject({ type: z.string(), object: z.looseObject({}) })
const bookmarkSchema = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) })

/**
 * Connects to a cluster; without a kubeconfig, as kubectl would. Kubernetes' client library is large, so it is only
 * loaded here.
 */
export async function connectKubernetes(
  kubeconfigPath: string | undefined,
  options: { readonly answerDeadlineMs?: number | undefined } = {},
): Promise<KubernetesClient> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  if (kubeconfigPath === undefined) config.loadFromDefault()
  else config.loadFromFile(kubeconfigPath)
  return new KubernetesClient(new KubernetesConnection(config, options))
}

/** The same by a kubeconfig that is no file. */
export async function connectKubernetesText(
  kubeconfig: string,
  options: { readonly answerDeadlineMs?: number | undefined } = {},
): Promise<KubernetesClient> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromString(kubeconfig)
  return new KubernetesClient(new KubernetesConnection(config, options))
}

/** Any Kubernetes cluster, over its wire protocol. */
export class KubernetesClient implements ClusterClient {
  readonly #connection: KubernetesConnection

  constructor(connection: KubernetesConnection) {
    this.#connection = connection
  }

  /** Where it is. */
  get server(): string {
    return this.#connection.server
  }

  /** Asked of whether it answers at all: everybody may ask that. */
  serverVersion(signal?: AbortSignal): Promise<unknown> {
    return this.#connection.json({ method: 'GET', path: '/version' }, signal)
  }

  async get<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return typed(kind, await this.#connection.json({ method: 'GET', path: resourcePath(kind, ref) }, signal))
    } catch (error) {
      // A 404 without a name is about the resource, not the object: a missing CustomResourceDefinition must not go
      // unnoticed.
      if (isStatusError(error, 'NotFound') && error.details.name === ref.name) return undefined
      throw error
    }
  }

  async list<T extends KubernetesObject>(
    kind: Kind<T>,
    options: ListOptions = {},
    signal?: AbortSignal,
  ): Promise<ObjectList<T>> {
    const items: T[] = []
    let page: string | undefined
    for (;;) {
      const query = { ...selection(options), limit: String(pageSize), continue: page }
      const path = resourcePath(kind, { namespace: options.namespace })
      const list = parse(listSchema, await this.#connection.json({ method: 'GET', path, query }, signal), path)
      for (const item of list.items ?? []) items.push(typed(kind, item))
      page = list.metadata.continue || undefined
      if (page === undefined) return { items, resourceVersion: list.metadata.resourceVersion }
    }
  }

  async create<T extends KubernetesObject>(kind: Kind<T>, object: NewObject<T>, signal?: AbortSignal): Promise<T> {
    const path = resourcePath(kind, { namespace: object.metadata.namespace })
    return typed(kind, await this.#connection.json({ method: 'POST', path, body: named(kind, object) }, signal))
  }

  async update<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    const path = resourcePath(kind, refOf(object))
    return typed(kind, await this.#connection.json({ method: 'PUT', path, body: named(kind, object) }, signal))
  }

  async updateStatus<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    const path = resourcePath(kind, { ...refOf(object), subresource: 'status' })
    return typed(kind, await this.#connection.json({ method: 'PUT', path, body: named(kind, object) }, signal))
  }

  async changeStatus<T extends KubernetesObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    change: (current: T) => T,
    signal?: AbortSignal,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const current = await this.get(kind, ref, signal)
      if (!current) throw notFound(kind, ref.name)
      try {
        return await this.updateStatus(kind, change(current), signal)
      } catch (error) {
        if (attempt >= mostAttempts || !isStatusError(error, 'Conflict')) throw error
      }
      await setTimeout(firstPauseMs * 2 ** attempt * Math.random(), undefined, { signal })
    }
  }

  async patch<T extends KubernetesObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    patch: MergePatch,
    signal?: AbortSignal,
  ): Promise<T> {
    return typed(kind, await this.#mergePatch(resourcePath(kind, ref), patch, signal))
  }

  async delete(kind: Kind, ref: ObjectRef, options: DeleteOptions = {}, signal?: AbortSignal): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: options.graceSeconds,
      preconditions: options.uid === undefined ? undefined : { uid: options.uid },
      propagationPolicy: options.propagation,
    }
    await this.#connection.json({ method: 'DELETE', path: resourcePath(kind, ref), body }, signal)
  }

  async *watch<T extends KubernetesObject>(
    kind: Kind<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const path = resourcePath(kind, { namespace: options.namespace })
    const query = {
      ...selection(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(longestWatchSeconds),
    }
    // The server ends it after that time; if it does not, the connection is dead.
    const bytes = this.#connection.stream({ method: 'GET', path, query }, (longestWatchSeconds + 30) * 1000, signal)
    for await (const line of jsonLines(bytes, longestEvent)) {
      const { type, object } = parse(eventSchema, line, path)
      if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') yield { type, object: typed(kind, object) }
      else if (type === 'BOOKMARK') {
        yield { type, resourceVersion: parse(bookmarkSchema, object, path).metadata.resourceVersion }
      } else throw statusErrorOf(500, object)
    }
  }

  async scale(kind: Kind, ref: ObjectRef, replicas: number, signal?: AbortSignal): Promise<void> {
    await this.#mergePatch(resourcePath(kind, { ...ref, subresource: 'scale' }), { spec: { replicas } }, signal)
  }

  /** Closes idle connections. */
  close(): void {
    this.#connection.close()
  }

  #mergePatch(path: string, body: MergePatch, signal?: AbortSignal): Promise<unknown> {
    const request = { method: 'PATCH', path, body, contentType: 'application/merge-patch+json' } as const
    return this.#connection.json(request, signal)
  }
}

function selection({ labels = {}, fields = {} }: ListOptions): Record<string, string | undefined> {
  return { labelSelector: selectorText(labels) || undefined, fieldSelector: selectorText(fields) || undefined }
}

function named(kind: Kind, object: object): object {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }
}

function parse<R>(schema: z.ZodType<R>, value: unknown, path: string): R {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new StatusError('InternalError', `${path}: the server's answer is not understood: ${parsed.error.message}`)
}

function typed<T extends KubernetesObject>(kind: Kind<T>, value: unknown): T {
  // Items in lists of Kubernetes' own kinds do not name their kind.
  const object: unknown =
    typeof value === 'object' && value !== null ? { apiVersion: apiVersionOf(kind), kind: kind.kind, ...value } : value
  if (isOfKind(kind, object)) return object
  throw new StatusError('InternalError', `the server answered with something else than ${resourceNameOf(kind)}`)
}

/** The server validated it by the schema of its kind, so the kind determines the type. */
function isOfKind<T extends KubernetesObject>(kind: Kind<T>, value: unknown): value is T {
  if (typeof value !== 'object' || value === null) return false
  const metadata: unknown = Reflect.get(value, 'metadata')
  if (typeof metadata !== 'object' || metadata === null) return false
  return Reflect.get(value, 'kind') === kind.kind && Reflect.get(value, 'apiVersion') === apiVersionOf(kind)
}
