import { randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../foundation/clock.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import { StatusError, alreadyExists, conflict, invalidObject, notFound } from '../resources/status-error.ts'
import { type Store, StoreConflict, type StoreKey, type StoredObject } from '../store/store.ts'
import type { AdmissionRequest, AdmissionRule } from './admission.ts'
import { type DeletionOptions, decideDeletion, isReadyToRemove } from './deletion.ts'
import { type FieldSelector, matchesFields, selectedName } from './field-selector.ts'
import { type JsonObject, isJsonObject, sameJson, valueAtPath } from './json-value.ts'
import { type LabelSelector, matchesLabels } from './label-selector.ts'
import { type ListPage, ListSnapshots } from './list-snapshots.ts'
import type { FieldValidation } from './object-decode.ts'
import { type ObjectEvent, watchObjects } from './object-watch.ts'
import { prepareCreate, prepareStatus, prepareUpdate } from './prepare-object.ts'
import { scaleOf, scalePathsOf, withReplicas } from './scale.ts'

export type { AdmissionRequest, AdmissionRule }

export interface ClusterApiOptions {
  readonly store: Store
  readonly kinds: readonly Kind[]
  readonly clock: Clock
  readonly admission?: readonly AdmissionRule[] | undefined
}

export interface Selection {
  readonly namespace?: string | undefined
  readonly labels?: LabelSelector | undefined
  readonly fields?: FieldSelector | undefined
}

export interface PageRequest extends Selection {
  readonly limit?: number | undefined
  readonly continueToken?: string | undefined
  /** What was asked, as the client said it: a page token is good only for the same question. */
  readonly scope?: string | undefined
}

export interface WriteOptions {
  readonly dryRun?: boolean | undefined
  readonly fieldValidation?: FieldValidation | undefined
  readonly warn?: ((warning: string) => void) | undefined
}

export type Subresource = 'status' | 'scale' | 'finalize'

export interface Deleted {
  readonly object: KubernetesObject
  /** `false`: it is marked, and goes when its grace or its finalizers are over. */
  readonly gone: boolean
}

/** How a patch, of whatever format, changes a value. */
export type ApplyPatch = (current: JsonObject) => unknown

type Change =
  | { readonly type: 'write'; readonly object: KubernetesObject }
  | { readonly type: 'remove' }
  | { readonly type: 'keep' }

const mostAttempts = 8
const nameCharacters = 'bcdfghjklmnpqrstvwxz2456789'
const lastingNamespaces = new Set(['default', 'kube-system', 'kube-public'])

/**
 * The verbs of the Kubernetes API over a Store, for every kind alike: defaults, validation, admission, versions,
 * deletion. The HTTP face and the embedded client both come through here; neither adds rules of its own.
 */
export class ClusterApi {
  readonly kinds: readonly Kind[]
  readonly clock: Clock
  readonly #store: Store
  readonly #admission: readonly AdmissionRule[]
  readonly #namespaces: Kind | undefined
  readonly #snapshots = new ListSnapshots()

  constructor(options: ClusterApiOptions) {
    this.kinds = options.kinds
    this.clock = options.clock
    this.#store = options.store
    this.#admission = options.admission ?? []
    this.#namespaces = options.kinds.find(({ group, kind }) => group === '' && kind === 'Namespace')
  }

  /** The newest version of anything. */
  get revision(): number {
    return this.#store.revision
  }

  get(kind: Kind, ref: ObjectRef): KubernetesObject {
    return this.#stored(kind, ref).object
  }

  find(kind: Kind, ref: ObjectRef): KubernetesObject | undefined {
    return this.#store.get(keyFor(kind, ref))?.object
  }

  list(kind: Kind, request: PageRequest = {}): ListPage {
    const scope = `${resourceNameOf(kind)}?${request.namespace ?? ''}?${request.scope ?? ''}`
    const limit = request.limit ?? 0
    const now = this.clock.now()
    if (request.continueToken) return this.#snapshots.nextPage(request.continueToken, limit, scope, now)
    const list = this.#store.list({ resource: resourceNameOf(kind), namespace: namespaceOf(kind, request) })
    const matches = matcherOf(request)
    const items = list.items.filter(({ object }) => matches(object)).map(({ object }) => object)
    return this.#snapshots.firstPage(items, String(list.revision), limit, scope, now)
  }

  /** `fromVersion` undefined begins with what is there, and says `SYNCED` when that is done. */
  watch(
    kind: Kind,
    request: Selection & { readonly fromVersion?: string | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<ObjectEvent> {
    const selector = { resource: resourceNameOf(kind), namespace: namespaceOf(kind, request) }
    const fromRevision = request.fromVersion === undefined ? undefined : this.readVersion(request.fromVersion)
    return watchObjects(this.#store, { selector, matches: matcherOf(request), fromRevision }, signal)
  }

  /** A resourceVersion that a client sent. Versions this store has not reached yet are refused: it is another store's. */
  readVersion(version: string): number {
    const revision = /^\d{1,15}$/.test(version) ? Number(version) : Number.NaN
    if (Number.isNaN(revision)) throw new StatusError('BadRequest', `invalid resource version: ${version.slice(0, 64)}`)
    if (revision > this.#store.revision) {
      const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }]
      const message = `Too large resource version: ${revision}, current: ${this.#store.revision}`
      throw new StatusError('Timeout', message, { causes, retryAfterSeconds: 1 })
    }
    return revision
  }

  async create(
    kind: Kind,
    namespace: string | undefined,
    input: unknown,
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    for (let attempt = 1; ; attempt++) {
      const object = prepareCreate(kind, input, {
        ...readingOf(options),
        namespace: kind.namespaced ? namespace : undefined,
        uid: randomUUID(),
        now: this.clock.now(),
        nameSuffix: randomSuffix(),
      })
      this.#refuseClosedNamespace(kind, object)
      this.#admit({ operation: 'create', kind, object })
      const key = keyFor(kind, refOf(object))
      if (options.dryRun) {
        if (this.#store.get(key)) throw alreadyExists(kind, object.metadata.name)
        return object
      }
      try {
        return (await this.#store.create(key, object)).object
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error
        const named = isJsonObject(input) && isJsonObject(input['metadata']) && Boolean(input['metadata']['name'])
        if (named || attempt >= mostAttempts) throw alreadyExists(kind, object.metadata.name)
      }
    }
  }

  /** Replaces the object, or one side of it. */
  async update(
    kind: Kind,
    ref: ObjectRef,
    input: unknown,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    const changed = await this.#change(kind, ref, options, (current) =>
      this.#updated(kind, current, input, options, subresource),
    )
    return changed.object
  }

  /** Reads, patches and replaces until nobody came in between. */
  async patch(
    kind: Kind,
    ref: ObjectRef,
    apply: ApplyPatch,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    const changed = await this.#change(kind, ref, options, (current) => {
      const before = subresource === 'scale' ? scaleOf(scalePathsOf(kind), current) : current
      return this.#updated(kind, current, apply(before), options, subresource)
    })
    return changed.object
  }

  getScale(kind: Kind, ref: ObjectRef): KubernetesObject {
    return scaleOf(scalePathsOf(kind), this.get(kind, ref))
  }

  async delete(
    kind: Kind,
    ref: ObjectRef,
    request: DeletionOptions = {},
    options: WriteOptions = {},
  ): Promise<Deleted> {
    if (kind === this.#namespaces && lastingNamespaces.has(ref.name)) {
      const why = `namespaces "${ref.name}" is forbidden: this namespace may not be deleted`
      throw new StatusError('Forbidden', why, { name: ref.name, kind: kind.plural })
    }
    return this.#change(kind, ref, options, (current) => {
      checkPreconditions(kind, current, request)
      this.#admit({ operation: 'delete', kind, object: current })
      const step = decideDeletion(kind, current, request, this.clock.now())
      switch (step.type) {
        case 'remove':
          return { type: 'remove' }
        case 'mark':
          return { type: 'write', object: step.object }
        default:
          return { type: 'keep' }
      }
    })
  }

  /** Deletes what is selected, one after the other; what went meanwhile is fine. */
  async deleteCollection(
    kind: Kind,
    selection: Selection,
    request: DeletionOptions = {},
    options: WriteOptions = {},
  ): Promise<KubernetesObject[]> {
    const deleted: KubernetesObject[] = []
    for (const object of this.list(kind, selection).items) {
      try {
        deleted.push((await this.delete(kind, refOf(object), request, options)).object)
      } catch (error) {
        if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error
      }
    }
    return deleted
  }

  #updated(
    kind: Kind,
    current: KubernetesObject,
    input: unknown,
    options: WriteOptions,
    subresource?: Subresource,
  ): Change {
    const reading = readingOf(options)
    const object = this.#prepared(kind, current, input, reading, subresource)
    if (sameJson(object, current)) return { type: 'keep' }
    if (subresource !== 'status') this.#admit({ operation: 'update', kind, object, previous: current })
    return { type: 'write', object }
  }

  #prepared(
    kind: Kind,
    current: KubernetesObject,
    input: unknown,
    reading: ReturnType<typeof readingOf>,
    subresource: Subresource | undefined,
  ): KubernetesObject {
    switch (subresource) {
      case undefined:
        return prepareUpdate(kind, input, current, reading)
      case 'status':
        if (!kind.hasStatus) throw new StatusError('NotFound', 'the server could not find the requested resource')
        return prepareStatus(kind, input, current, reading)
      case 'scale': {
        const version = valueAtPath(input, ['metadata', 'resourceVersion'])
        if (version && version !== current.metadata.resourceVersion) throw conflict(kind, current.metadata.name)
        const scaled = withReplicas(scalePathsOf(kind), current, valueAtPath(input, ['spec', 'replicas']) ?? 0)
        return prepareUpdate(kind, scaled, current, reading)
      }
      default:
        return { ...current, spec: { finalizers: valueAtPath(input, ['spec', 'finalizers']) ?? [] } }
    }
  }

  async #change(
    kind: Kind,
    ref: ObjectRef,
    options: WriteOptions,
    decide: (current: KubernetesObject) => Change,
  ): Promise<Deleted> {
    for (let attempt = 1; ; attempt++) {
      const { object: current, key, revision } = this.#stored(kind, ref)
      const change = decide(current)
      if (change.type === 'keep') return { object: current, gone: false }
      const next = change.type === 'write' ? change.object : current
      const gone = change.type === 'remove' || isReadyToRemove(kind, next)
      if (options.dryRun) return { object: next, gone }
      try {
        if (!gone) return { object: (await this.#store.update(key, next, revision)).object, gone }
        const last = (await this.#store.delete(key, revision)).object
        return { object: change.type === 'write' ? next : last, gone }
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error
        if (error.reason === 'missing') throw notFound(kind, ref.name)
        if (attempt >= mostAttempts) throw conflict(kind, ref.name)
      }
    }
  }

  #stored(kind: Kind, ref: ObjectRef): StoredObject {
    const stored = this.#store.get(keyFor(kind, ref))
    if (!stored) throw notFound(kind, ref.name)
    return stored
  }

  #admit(request: AdmissionRequest): void {
    const errors = this.#admission.flatMap((rule) => rule(request))
    if (errors.length > 0) throw invalidObject(request.kind, request.object.metadata.name, errors)
  }

  #refuseClosedNamespace(kind: Kind, { metadata }: KubernetesObject): void {
    if (!kind.namespaced || !this.#namespaces) return
    const name = metadata.namespace ?? ''
    const namespace = this.find(this.#namespaces, { name })
    if (!namespace) throw notFound(this.#namespaces, name)
    if (namespace.metadata.deletionTimestamp === undefined) return
    const why = `unable to create new content in namespace ${name} because it is being terminated`
    throw new StatusError('Forbidden', `${resourceNameOf(kind)} "${metadata.name}" is forbidden: ${why}`, {
      name: metadata.name,
      group: kind.group || undefined,
      kind: kind.plural,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${name} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    })
  }
}

function keyFor(kind: Kind, ref: ObjectRef): StoreKey {
  return { resource: resourceNameOf(kind), namespace: kind.namespaced ? (ref.namespace ?? '') : '', name: ref.name }
}

function namespaceOf(kind: Kind, { namespace }: Selection): string | undefined {
  return kind.namespaced ? namespace : undefined
}

function matcherOf({ labels = [], fields = [] }: Selection): (object: KubernetesObject) => boolean {
  const name = selectedName(fields)
  return (object) =>
    (name === undefined || object.metadata.name === name) &&
    matchesLabels(labels, object.metadata.labels) &&
    matchesFields(fields, object)
}

function readingOf({ fieldValidation = 'Ignore', warn = () => {} }: WriteOptions) {
  return { fieldValidation, warn }
}

function checkPreconditions(
  kind: Kind,
  { metadata }: KubernetesObject,
  { uid, resourceVersion }: DeletionOptions,
): void {
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      kind,
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`
    throw conflict(kind, metadata.name, why)
  }
}

function randomSuffix(): string {
  return Array.from({ length: 5 }, () => nameCharacters.charAt(randomInt(nameCharacters.length))).join('')
}
