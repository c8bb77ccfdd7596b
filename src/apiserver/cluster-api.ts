import type { Clock } from '../foundation/clock.ts'
import { customResourceDefinition } from '../resources/custom-resource-definition.ts'
import { customResourceDefinitionKind } from '../resources/custom-resource-definition-kind.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import type { Store } from '../store/store.ts'
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
import type { Turns } from './flow-control/flow-control.ts'
import { KindRegistry } from './kind-registry.ts'
import { KindStore } from './kind-store.ts'
import type { ListPage } from './reading/list-snapshots.ts'
import { ObjectLists } from './reading/object-lists.ts'
import { matcherOf } from './reading/object-matcher.ts'
import type { ObjectEvent } from './reading/object-watch.ts'
import { readResourceVersion } from './reading/resource-version.ts'
import { type CollectionOptions, deleteInTurns } from './writing/collection-deletion.ts'
import type { DeletionOptions } from './writing/deletion.ts'
import { ObjectWrites, type PartRequest } from './writing/object-writes.ts'
import { refuseUnscaled, scaleOf, scalePathsOf } from './writing/scale.ts'

export type { AdmissionRequest, AdmissionRule }
export type { ApplyPatch, Deleted, PageRequest, Selection, Subresource, WriteOptions } from './api-requests.ts'

export interface ClusterApiOptions {
  readonly store: Store
  readonly kinds: readonly Kind[]
  readonly clock: Clock
  readonly admission?: readonly AdmissionRule[] | undefined
  readonly plugins?: readonly AdmissionPlugin[] | undefined
  /**
   * How much has been written so far, where that is counted: it bounds how many old versions the pages of lists may
   * hold.
   */
  readonly writtenBytes?: (() => number) | undefined
}

/**
 * The verbs of the Kubernetes API over a Store, the same for every kind: defaults, validation, admission, versions,
 * deletion. Both the HTTP face and the embedded client use it; neither adds rules of its own.
 */
export class ClusterApi {
  readonly kinds: KindRegistry
  readonly clock: Clock
  readonly #store: KindStore
  readonly #lists: ObjectLists
  readonly #writes: ObjectWrites

  constructor(options: ClusterApiOptions) {
    const { kinds, clock } = options
    this.kinds = new KindRegistry(kinds.filter(({ origin }) => origin === 'core'))
    this.clock = clock
    this.#store = new KindStore(options.store)
    this.#lists = new ObjectLists(this.#store, clock, options.writtenBytes ?? (() => 0))
    this.#writes = new ObjectWrites({
      kinds: this.kinds,
      store: this.#store,
      clock,
      admission: new AdmissionChain(options.admission ?? [], options.plugins ?? []),
      builtIn: kinds.filter(({ origin }) => origin === 'custom'),
      namespaces: kinds.find(({ group, kind }) => group === '' && kind === 'Namespace'),
      onWrite: () => this.#lists.tidy(),
    })
  }

  /**
   * Stores the definitions of these kinds as objects, as this program has them, and resumes deletions that an earlier
   * run began.
   */
  async installDefinitions(kinds: readonly Kind[]): Promise<void> {
    const install = (kind: Kind) => {
      const wanted = customResourceDefinition(kind)
      const there = this.find(customResourceDefinitionKind, { name: resourceNameOf(kind) })
      return there
        ? this.update(customResourceDefinitionKind, refOf(there), { ...there, spec: wanted['spec'] })
        : this.create(customResourceDefinitionKind, undefined, wanted)
    }
    await Promise.all(kinds.map(install))
    await this.#writes.resumeCleanup()
  }

  /** The newest version of any object. */
  get revision(): number {
    return this.#store.revision
  }

  get(kind: Kind, ref: ObjectRef): KubernetesObject {
    return this.#store.getKnown(this.kinds.served(kind), ref).object
  }

  find(kind: Kind, ref: ObjectRef): KubernetesObject | undefined {
    return this.#store.get(this.kinds.resolve(kind), ref)?.object
  }

  list(kind: Kind, request: PageRequest = {}): ListPage {
    return this.#lists.list(this.kinds.served(kind), request)
  }

  /** The same for callers who can wait: others have their turn in between, however many objects must be looked at. */
  async listInTurns(kind: Kind, request: PageRequest, turns: Turns | undefined): Promise<ListPage> {
    return this.#lists.listInTurns(this.kinds.served(kind), request, turns)
  }

  /**
   * Without `fromVersion` the watch begins with the existing objects and says `SYNCED` when they are complete. Ends
   * when the kind is no longer served.
   */
  watch(
    anyKind: Kind,
    request: Selection & { readonly fromVersion?: string | undefined },
    signal: AbortSignal,
  ): AsyncIterableIterator<ObjectEvent> {
    const kind = this.kinds.served(anyKind)
    const { namespace, fromVersion } = request
    const fromRevision = fromVersion === undefined ? undefined : this.readVersion(fromVersion)
    const selection = { namespace, matches: matcherOf(request), fromRevision }
    return this.#store.watch(kind, selection, () => this.kinds.whileServed(kind, signal))
  }

  /** The JSON of an object that was just written, if it is still known: then an answer need not encode it again. */
  jsonOf(object: KubernetesObject): string | undefined {
    return this.#store.jsonOf(object)
  }

  /** Reads a resourceVersion that a client sent; refuses those of other clusters. */
  readVersion(version: string): number {
    return readResourceVersion(version, this.#store.revision)
  }

  create(
    kind: Kind,
    namespace: string | undefined,
    input: unknown,
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    return this.#writes.create(kind, namespace, input, options)
  }

  /** Replaces the object or one of its subresources. */
  update(
    kind: Kind,
    ref: ObjectRef,
    input: unknown,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    return this.#writes.update(kind, ref, input, options, subresource)
  }

  /** Reads, patches and replaces the object, again if somebody else changed it in between. */
  patch(
    kind: Kind,
    ref: ObjectRef,
    apply: ApplyPatch | PatchInPhases,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    return this.#writes.patch(kind, ref, apply, options, subresource)
  }

  /** Asks policies about something that is sent to a subresource and stored nowhere. Throws their refusal. */
  judge(request: PartRequest, options: WriteOptions): void {
    this.#writes.judge(request, options)
  }

  getScale(anyKind: Kind, ref: ObjectRef): KubernetesObject {
    const kind = this.kinds.served(anyKind)
    const paths = scalePathsOf(kind)
    const object = this.get(kind, ref)
    refuseUnscaled(kind, paths, object)
    return scaleOf(paths, object)
  }

  delete(kind: Kind, ref: ObjectRef, request: DeletionOptions = {}, options: WriteOptions = {}): Promise<Deleted> {
    return this.#writes.delete(kind, ref, request, options)
  }

  /**
   * Deletes the selected objects, a few at a time, as long as the caller waits; objects that are already gone are fine.
   */
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
}
