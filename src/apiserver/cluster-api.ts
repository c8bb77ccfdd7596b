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
import { ObjectWrites } from './writing/object-writes.ts'
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
   * How much has been written so far, where somebody counts it: what pages of lists hold of
   * old versions is bounded by it.
   */
  readonly writtenBytes?: (() => number) | undefined
}

/**
 * The verbs of the Kubernetes API over a Store, for every kind alike: defaults, validation, admission, versions,
 * deletion. The HTTP face and the embedded client both come through here; neither adds rules of its own.
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
   * Keeps the definitions of these kinds as objects, as this program has them, and goes on
   * with deletions that were begun.
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

  /** The newest version of anything. */
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

  /** The same, for those who can wait: however many objects must be looked at, others have their turn in between. */
  async listInTurns(kind: Kind, request: PageRequest, turns: Turns | undefined): Promise<ListPage> {
    return this.#lists.listInTurns(this.kinds.served(kind), request, turns)
  }

  /**
   * `fromVersion` undefined begins with what is there, and says `SYNCED` when that is done. Ends with its kind,
   * when that is not served any more.
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

  /** The JSON of an object as it was just written, where it is still known: an answer need not be encoded again. */
  jsonOf(object: KubernetesObject): string | undefined {
    return this.#store.jsonOf(object)
  }

  /** A resourceVersion that a client sent, if it is one of this cluster's. */
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

  /** Replaces the object, or one side of it. */
  update(
    kind: Kind,
    ref: ObjectRef,
    input: unknown,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    return this.#writes.update(kind, ref, input, options, subresource)
  }

  /** Reads, patches and replaces until nobody came in between. */
  patch(
    kind: Kind,
    ref: ObjectRef,
    apply: ApplyPatch | PatchInPhases,
    options: WriteOptions = {},
    subresource?: Subresource,
  ): Promise<KubernetesObject> {
    return this.#writes.patch(kind, ref, apply, options, subresource)
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
}
