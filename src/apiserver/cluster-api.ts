import type { Clock } from '../foundation/clock.ts'
import { customResourceDefinition } from '../resources/custom-resource-definition.ts'
import { customResourceDefinitionKind } from '../resources/custom-resource-definition-kind.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import { StatusError, alreadyExists, conflict, notFound } from '../resources/status-error.ts'
import { type Store, StoreConflict } from '../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest, AdmissionRule } from './admission/admission.ts'
import { AdmissionChain } from './admission/admission-chain.ts'
import type {
  ApplyPatch,
  Deleted,
  PageRequest,
  PatchInPhases,
  Selection,
  Subresource,
  WriteOptions,
} from './api-requests.ts'
import { refuseInTerminating } from './admission/closed-namespace.ts'
import { isDefinition } from './custom-resources/check-definition.ts'
import { type CollectionOptions, deleteInTurns } from './writing/collection-deletion.ts'
import { CustomResources } from './custom-resources/custom-resources.ts'
import { DefinitionCleanup } from './custom-resources/definition-cleanup.ts'
import { withTermination } from './custom-resources/definition-status.ts'
import { type DeletionOptions, checkPreconditions, decideDeletion, isReadyToRemove } from './writing/deletion.ts'
import type { Turns } from './flow-control/flow-control.ts'
import { isJsonObject, sameJson } from '../resources/json-value.ts'
import { KindRegistry } from './kind-registry.ts'
import { KindStore } from './kind-store.ts'
import type { ListPage } from './reading/list-snapshots.ts'
import { ObjectLists } from './reading/object-lists.ts'
import { matcherOf } from './reading/object-matcher.ts'
import { type ObjectChange, changedObject, newObject, patchedObject } from './writing/object-phases.ts'
import type { ObjectEvent } from './reading/object-watch.ts'
import { refuseUnscaled, scaleOf, scalePathsOf } from './writing/scale.ts'
import { type Phases, PlainTurns, atOnce, inTurns, overtaken } from './writing/write-phases.ts'

export type { AdmissionRequest, AdmissionRule }
export type { ApplyPatch, Deleted, PageRequest, Selection, Subresource, WriteOptions } from './api-requests.ts'

export interface ClusterApiOptions {
  readonly store: Store
  readonly kinds: readonly Kind[]
  readonly clock: Clock
  readonly admission?: readonly AdmissionRule[] | undefined
  readonly plugins?: readonly AdmissionPlugin[] | undefined
  /** How much has been written so far, where somebody counts it: what pages of lists hold of old versions is bounded by it. */
  readonly writtenBytes?: (() => number) | undefined
}

type Change =
  | { readonly type: 'write'; readonly object: KubernetesObject; readonly release?: () => void }
  | { readonly type: 'remove' }
  | { readonly type: 'keep' }

const mostAttempts = 8
/** Attempts at which others may come in between. */
const mostPatient = 3

/**
 * The verbs of the Kubernetes API over a Store, for every kind alike: defaults, validation, admission, versions,
 * deletion. The HTTP face and the embedded client both come through here; neither adds rules of its own.
 */
export class ClusterApi {
  readonly kinds: KindRegistry
  readonly clock: Clock
  readonly #store: KindStore
  readonly #definitions: CustomResources
  readonly #cleanup: DefinitionCleanup
  readonly #admission: AdmissionChain
  readonly #namespaces: Kind | undefined
  readonly #lists: ObjectLists

  constructor(options: ClusterApiOptions) {
    const { kinds, clock } = options
    this.kinds = new KindRegistry(kinds.filter(({ origin }) => origin === 'core'))
    this.clock = clock
    this.#store = new KindStore(options.store)
    this.#lists = new ObjectLists(this.#store, clock, options.writtenBytes ?? (() => 0))
    this.#admission = new AdmissionChain(options.admission ?? [], options.plugins ?? [])
    this.#namespaces = kinds.find(({ group, kind }) => group === '' && kind === 'Namespace')
    const builtIn = kinds.filter(({ origin }) => origin === 'custom')
    this.#definitions = new CustomResources({ registry: this.kinds, store: this.#store, clock, builtIn })
    this.#cleanup = new DefinitionCleanup(this.kinds, this.#store, {
      deleteObject: (kind, ref) => this.delete(kind, ref),
      changeDefinition: (name, change) =>
        this.#change(customResourceDefinitionKind, { name }, {}, (_kind, current) => ({
          type: 'write',
          object: change(current),
        })),
    })
  }

  /** Keeps the definitions of these kinds as objects, as this program has them, and goes on with deletions that were begun. */
  async installDefinitions(kinds: readonly Kind[]): Promise<void> {
    for (const kind of kinds) {
      const wanted = customResourceDefinition(kind)
      const there = this.find(customResourceDefinitionKind, { name: resourceNameOf(kind) })
      if (!there) await this.create(customResourceDefinitionKind, undefined, wanted)
      else await this.update(customResourceDefinitionKind, refOf(there), { ...there, spec: wanted['spec'] })
    }
    for (const name of this.#definitions.terminating) await this.#cleanup.advance(name)
  }

  /** The newest version of anything. */
  get revision(): number {
    return this.#store.revision
  }

  get(kind: Kind, ref: ObjectRef): KubernetesObject {
    const served = this.#served(kind)
    return this.#stored(served, ref).object
  }

  find(kind: Kind, ref: ObjectRef): KubernetesObject | undefined {
    return this.#store.get(this.kinds.resolve(kind), ref)?.object
  }

  list(kind: Kind, request: PageRequest = {}): ListPage {
    return this.#lists.list(this.#served(kind), request)
  }

  /** The same, for those who can wait: however many objects must be looked at, others have their turn in between. */
  async listInTurns(kind: Kind, request: PageRequest, turns: Turns | undefined): Promise<ListPage> {
    return this.#lists.listInTurns(this.#served(kind), request, turns)
  }

  /**
   * `fromVersion` undefined begins with what is there, and says `SYNCED` when that is done. Ends with its kind, when that is
   * not served any more.
   */
  watch(
    anyKind: Kind,
    request: Selection & { readonly fromVersion?: string | undefined },
    signal: AbortSignal,
  ): AsyncIterableIterator<ObjectEvent> {
    const kind = this.#served(anyKind)
    const { namespace, fromVersion } = request
    const fromRevision = fromVersion === undefined ? undefined : this.readVersion(fromVersion)
    const selection = { namespace, matches: matcherOf(request), fromRevision }
    return this.#store.watch(kind, selection, () => this.kinds.whileServed(kind, signal))
  }

  /** The JSON of an object as it was just written, where it is still known: an answer need not be encoded again. */
  jsonOf(object: KubernetesObject): string | undefined {
    return this.#store.jsonOf(object)
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
    anyKind: Kind,
    namespace: string | undefined,
    input: unknown,
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    for (let attempt = 1; ; attempt++) {
      const kind = this.#served(anyKind)
      const phases = newObject({ kind, namespace, input, options, now: this.clock.now() })
      const made = inTurns(phases, this.#turnsOf(options, attempt), () => this.kinds.resolve(anyKind) === kind)
      const tracked = made instanceof Promise ? await made : made
      if (tracked === overtaken) continue
      this.#refuseClosedNamespace(kind, tracked)
      this.#definitions.refuseNew(kind, tracked)
      const settled = isDefinition(kind) ? this.#definitions.settle(tracked) : tracked
      const request = { operation: 'create', kind, user: options.user, dryRun: options.dryRun } as const
      const object = this.#admission.complete({ ...request, object: settled })
      const release = this.#admission.admit({ ...request, object })
      try {
        if (options.dryRun) {
          if (this.#store.get(kind, refOf(object))) throw alreadyExists(kind, object.metadata.name)
          return object
        }
        return this.#written(kind, await this.#store.create(kind, object))
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error
        const named = isJsonObject(input) && isJsonObject(input['metadata']) && Boolean(input['metadata']['name'])
        if (named || attempt >= mostAttempts) throw alreadyExists(kind, object.metadata.name)
      } finally {
        release()
      }
    }
  }

  /** Replaces the object, or one side of it. */
  async update(
    anyKind: Kind,
    ref: ObjectRef,
    input: unknown,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    const changed = await this.#change(anyKind, ref, options, (kind, current) =>
      this.#updated({ kind, current, options, subresource }, (change) => changedObject({ ...change, input })),
    )
    return changed.object
  }

  /** Reads, patches and replaces until nobody came in between. */
  async patch(
    anyKind: Kind,
    ref: ObjectRef,
    apply: ApplyPatch | PatchInPhases,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    const changed = await this.#change(anyKind, ref, options, (kind, current) =>
      this.#updated({ kind, current, options, subresource }, (change) => patchedObject(change, apply)),
    )
    return changed.object
  }

  getScale(anyKind: Kind, ref: ObjectRef): KubernetesObject {
    const kind = this.#served(anyKind)
    const paths = scalePathsOf(kind)
    const object = this.get(kind, ref)
    refuseUnscaled(kind, paths, object)
    return scaleOf(paths, object)
  }

  async delete(
    anyKind: Kind,
    ref: ObjectRef,
    request: DeletionOptions = {},
    options: WriteOptions = {},
  ): Promise<Deleted> {
    const { deletion, plural, singular } = this.#served(anyKind)
    if (deletion?.lasting?.includes(ref.name)) {
      const why = `${plural} "${ref.name}" is forbidden: this ${singular} may not be deleted`
      throw new StatusError('Forbidden', why, { name: ref.name, kind: plural })
    }
    return this.#change(anyKind, ref, options, (kind, current) => this.#deleted(kind, current, request, options))
  }

  /** Deletes what is selected, some at a time, as long as somebody wants it; what went meanwhile is fine. */
  async deleteCollection(
    kind: Kind,
    selection: Selection,
    request: DeletionOptions = {},
    options: WriteOptions & CollectionOptions = {},
  ): Promise<KubernetesObject[]> {
    const { turns, signal } = options
    const { items } = await this.listInTurns(kind, selection, turns)
    return deleteInTurns(items, (object) => this.delete(kind, refOf(object), request, options), { turns, signal })
  }

  #deleted(kind: Kind, current: KubernetesObject, request: DeletionOptions, { user }: WriteOptions): Change {
    checkPreconditions(kind, current, request)
    this.#admission.admit({ operation: 'delete', kind, object: current, user })
    const now = this.clock.now()
    const isFirst = isDefinition(kind) && current.metadata.deletionTimestamp === undefined
    const step = decideDeletion(kind, isFirst ? withTermination(current, now) : current, request, now)
    switch (step.type) {
      case 'remove':
        return { type: 'remove' }
      case 'mark':
        return { type: 'write', object: step.object }
      default:
        return { type: 'keep' }
    }
  }

  *#updated(
    change: Omit<ObjectChange, 'input' | 'now'>,
    phasesOf: (change: Omit<ObjectChange, 'input'>) => Phases<KubernetesObject>,
  ): Phases<Change> {
    const { kind, current, options, subresource } = change
    const tracked = yield* phasesOf({ ...change, now: this.clock.now() })
    const next = isDefinition(kind) && !subresource ? this.#definitions.settle(tracked) : tracked
    const request = { operation: 'update', kind, previous: current, user: options.user } as const
    const object = subresource === 'status' ? next : this.#admission.complete({ ...request, object: next })
    if (sameJson(object, current)) return { type: 'keep' }
    if (subresource === 'status') return { type: 'write', object }
    return { type: 'write', object, release: this.#admission.admit({ ...request, object }) }
  }

  /** Who was overtaken a few times does it at once: nobody is overtaken for ever. */
  #turnsOf({ turns }: WriteOptions, attempt: number): Turns {
    return attempt > mostPatient ? atOnce : (turns ?? new PlainTurns(() => this.clock.now()))
  }

  async #change(
    anyKind: Kind,
    ref: ObjectRef,
    options: WriteOptions,
    decide: (kind: Kind, current: KubernetesObject) => Change | Phases<Change>,
  ): Promise<Deleted> {
    for (let attempt = 1; ; attempt++) {
      const kind = this.#served(anyKind)
      const { object: current, revision } = this.#stored(kind, ref)
      const isStillTrue = () =>
        this.#store.get(kind, ref)?.revision === revision && this.kinds.resolve(anyKind) === kind
      const decided = decide(kind, current)
      const outcome = 'type' in decided ? decided : inTurns(decided, this.#turnsOf(options, attempt), isStillTrue)
      const change = outcome instanceof Promise ? await outcome : outcome
      if (change === overtaken) continue
      if (change.type === 'keep') return { object: current, gone: false }
      const next = change.type === 'write' ? change.object : current
      const gone = change.type === 'remove' || isReadyToRemove(kind, next)
      try {
        if (options.dryRun) return { object: next, gone }
        if (!gone) return { object: this.#written(kind, await this.#store.update(kind, next, revision)), gone }
        const last = await this.#store.delete(kind, ref, revision)
        this.#removed(kind, last)
        return { object: change.type === 'write' ? next : last, gone }
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error
        if (error.reason === 'missing') throw notFound(kind, ref.name)
        if (attempt >= mostAttempts) throw conflict(kind, ref.name)
      } finally {
        if (change.type === 'write') change.release?.()
      }
    }
  }

  #stored(kind: Kind, ref: ObjectRef) {
    const stored = this.#store.get(kind, ref)
    if (!stored) throw notFound(kind, ref.name)
    return stored
  }

  /** The kind as its definition says it now: callers may hold one of the same name. */
  #served(kind: Kind): Kind {
    const served = this.kinds.resolve(kind)
    if (served !== kind || kind.origin === 'core') return served
    if (this.kinds.find(kind.group, kind.version, kind.plural)) return served
    throw new StatusError('NotFound', 'the server could not find the requested resource')
  }

  #written(kind: Kind, object: KubernetesObject): KubernetesObject {
    this.#admission.changed(kind, object, false)
    this.#lists.tidy()
    if (!isDefinition(kind)) return object
    this.#definitions.written(object)
    if (object.metadata.deletionTimestamp !== undefined) this.#cleanup.advanceInBackground(object.metadata.name)
    return object
  }

  #removed(kind: Kind, object: KubernetesObject): void {
    this.#admission.changed(kind, object, true)
    this.#lists.tidy()
    if (isDefinition(kind)) this.#definitions.removed(object)
    else if (this.#definitions.isTerminating(kind)) this.#cleanup.advanceInBackground(resourceNameOf(kind))
  }

  #refuseClosedNamespace(kind: Kind, object: KubernetesObject): void {
    if (!kind.namespaced || !this.#namespaces) return
    const name = object.metadata.namespace ?? ''
    const namespace = this.find(this.#namespaces, { name })
    if (!namespace) throw notFound(this.#namespaces, name)
    refuseInTerminating(kind, object, namespace)
  }
}
