import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { type Kind, apiVersionOf, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import { podKind } from '../resources/pod.ts'
import { serviceKind } from '../resources/service.ts'
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
import {
  type ConnectionOptions,
  KubernetesConnection,
  type WireAnswer,
  type WireRequest,
} from './kubernetes/kubernetes-connection.ts'
import { accessOfFile, accessOfKubeconfig, usualAccess } from './kubernetes/open-access.ts'
import { selectorText, resourcePath } from './kubernetes/resource-path.ts'
import { statusErrorOf } from './kubernetes/status-response.ts'

const pageSize = 500
/** Up to twice as long, as client-go does it: what began together should not begin anew together. */
const leastWatchSeconds = 300
const longestEvent = 8 * 1024 * 1024
const longestTail = 16 * 1024
const logDeadlineMs = 10_000
const wholeLogDeadlineMs = 600_000
const longestTimerMs = 2 ** 31 - 1
/** How often a change is attempted when others write in between. */
const mostAttempts = 8
const firstPauseMs = 5

const listSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.unknown()).nullable(),
})
const eventSchema = z.looseObject({ type: z.string(), object: z.looseObject({}) })
const refusalSchema = z.looseObject({ kind: z.literal('Status'), apiVersion: z.literal('v1') })
const bookmarkSchema = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) })

/** Which part of a container's log. */
export interface LogQuestion {
  /** Undefined for the only one. */
  readonly container: string | undefined
  readonly follow: boolean
  /** Of the container before its last restart. */
  readonly previous: boolean
  readonly tail: number | undefined
}

/** What is asked of a Service: with a body, it is posted as JSON. */
export interface ServiceQuestion {
  readonly namespace: string
  readonly service: string
  /** By its name or number. */
  readonly port: string
  readonly path: string
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Connects to a cluster; without a kubeconfig, as kubectl would. */
export async function connectKubernetes(
  kubeconfigPath: string | undefined,
  options: ConnectionOptions & { readonly context?: string | undefined } = {},
): Promise<KubernetesClient> {
  const { context } = options
  const access = await (kubeconfigPath === undefined
    ? usualAccess(process.env, context)
    : accessOfFile(kubeconfigPath, context))
  return new KubernetesClient(new KubernetesConnection(access, options))
}

/** The same by a kubeconfig that is no file. */
export async function connectKubernetesText(
  kubeconfig: string,
  options: ConnectionOptions = {},
): Promise<KubernetesClient> {
  const access = await accessOfKubeconfig(kubeconfig, process.cwd())
  return new KubernetesClient(new KubernetesConnection(access, options))
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

  /** The last line of a container's log, with its time; empty if there is none. */
  async logTail(ref: ObjectRef, container: string, signal: AbortSignal): Promise<string> {
    const path = `${resourcePath(podKind, ref)}/log`
    const query = { container, tailLines: '1', timestamps: 'true', limitBytes: String(longestTail) }
    const parts: Buffer[] = []
    for await (const part of this.#connection.stream({ method: 'GET', path, query }, logDeadlineMs, signal)) {
      parts.push(part)
    }
    return Buffer.concat(parts).toString('utf8')
  }

  /** A container's log as its bytes come. One that is followed ends with its container or with the signal. */
  log(ref: ObjectRef, question: LogQuestion, signal: AbortSignal): AsyncGenerator<Buffer> {
    const { container, follow, previous, tail } = question
    const query = {
      container,
      follow: follow ? 'true' : undefined,
      previous: previous ? 'true' : undefined,
      tailLines: tail === undefined ? undefined : String(tail),
    }
    const request = { method: 'GET', path: `${resourcePath(podKind, ref)}/log`, query } as const
    // A program may say nothing for days, and that is no sign of a dead connection.
    return follow
      ? this.#connection.stream(request, longestTimerMs, signal, longestTimerMs)
      : this.#connection.stream(request, wholeLogDeadlineMs, signal)
  }

  /**
   * Asks a Service through the API server, which people reach where they do not reach Pods. What the Service answers is
   * returned, whatever it is; what the API server itself refuses is thrown. It keeps `Authorization` to itself.
   */
  async askService(question: ServiceQuestion, signal: AbortSignal): Promise<WireAnswer> {
    const { namespace, service, port, path, body, headers } = question
    const target = resourcePath(serviceKind, { namespace, name: `${service}:${port}` })
    const method = body === undefined ? 'GET' : 'POST'
    const answer = await this.#connection.open({ method, path: `${target}/proxy${path}`, body, headers }, signal)
    return answer.status < 400 ? answer : withoutRefusal(answer)
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
      for (const item of list.items ?? []) items.push(withoutManagers(typed(kind, item)))
      page = list.metadata.continue || undefined
      if (page === undefined) return { items, resourceVersion: list.metadata.resourceVersion }
    }
  }

  async create<T extends KubernetesObject>(kind: Kind<T>, object: NewObject<T>, signal?: AbortSignal): Promise<T> {
    const path = resourcePath(kind, { namespace: object.metadata.namespace })
    return this.#write({ method: 'POST', path }, kind, object, signal)
  }

  /**
   * For what people write: fields that their kind does not have are refused, as `kubectl apply` does it, instead of
   * dropped. Of a rehearsal, the server says what would become of it, and keeps nothing.
   */
  strictly({ dryRun }: { readonly dryRun: boolean }): Pick<ClusterClient, 'create' | 'update'> {
    const query = { fieldValidation: 'Strict', dryRun: dryRun ? 'All' : undefined }
    return {
      create: (kind, object, signal) => {
        const path = resourcePath(kind, { namespace: object.metadata.namespace })
        return this.#write({ method: 'POST', path, query }, kind, object, signal)
      },
      update: (kind, object, signal) =>
        this.#write({ method: 'PUT', path: resourcePath(kind, refOf(object)), query }, kind, object, signal),
    }
  }

  async update<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    return this.#write({ method: 'PUT', path: resourcePath(kind, refOf(object)) }, kind, object, signal)
  }

  async updateStatus<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    const path = resourcePath(kind, { ...refOf(object), subresource: 'status' })
    return this.#write({ method: 'PUT', path }, kind, object, signal)
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
    const { uid, resourceVersion } = options
    const isBound = uid !== undefined || resourceVersion !== undefined
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: options.graceSeconds,
      preconditions: isBound ? { uid, resourceVersion } : undefined,
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
    const seconds = Math.round(leastWatchSeconds * (1 + Math.random()))
    const query = {
      ...selection(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(seconds),
    }
    // The server ends it after that time; if it does not, the connection is dead.
    const bytes = this.#connection.stream({ method: 'GET', path, query }, (seconds + 30) * 1000, signal)
    for await (const line of jsonLines(bytes, longestEvent)) {
      const { type, object } = parse(eventSchema, line, path)
      if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
        yield { type, object: withoutManagers(typed(kind, object)) }
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

  async #write<T extends KubernetesObject>(
    request: Pick<WireRequest, 'method' | 'path' | 'query'>,
    kind: Kind<T>,
    object: object,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return typed(kind, await this.#connection.json({ ...request, body: named(kind, object) }, signal))
  }

  #mergePatch(path: string, body: MergePatch, signal?: AbortSignal): Promise<unknown> {
    const request = { method: 'PATCH', path, body, contentType: 'application/merge-patch+json' } as const
    return this.#connection.json(request, signal)
  }
}

const longestRefusal = 1024 * 1024

/** Throws if the API server says it, and not the Service. */
async function withoutRefusal({ status, contentType, bytes }: WireAnswer): Promise<WireAnswer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > longestRefusal) break
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks)
  const refusal = refusalSchema.safeParse(parsedJson(text.toString('utf8')))
  if (refusal.success) throw statusErrorOf(status, refusal.data)
  return { status, contentType, bytes: Readable.from([text]) }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
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

/**
 * Who manages which field is half of many an object, and nobody here reads it. Those that are listed and watched are
 * kept. An update that says nothing about it changes nothing about it.
 */
function withoutManagers<T extends KubernetesObject>(object: T): T {
  const { managedFields, ...metadata } = object.metadata
  return managedFields === undefined ? object : { ...object, metadata }
}

/** The server validated it by the schema of its kind, so the kind determines the type. */
function isOfKind<T extends KubernetesObject>(kind: Kind<T>, value: unknown): value is T {
  if (typeof value !== 'object' || value === null) return false
  const metadata: unknown = Reflect.get(value, 'metadata')
  if (typeof metadata !== 'object' || metadata === null) return false
  return Reflect.get(value, 'kind') === kind.kind && Reflect.get(value, 'apiVersion') === apiVersionOf(kind)
}
