import type { Clock } from '../../foundation/clock.ts'
import { customResourceDefinitionKind } from '../../resources/custom-resource-definition-kind.ts'
import { isJsonObject, sameJson } from '../../resources/json-value.ts'
import { type Kind, apiVersionOf, resourceNameOf } from '../../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { StatusError, alreadyExists, conflict, notFound } from '../../resources/status-error.ts'
import { StoreConflict } from '../../store/store.ts'
import type { AdmissionRequest, RequestPart } from '../admission/admission.ts'
import type { AdmissionChain } from '../admission/admission-chain.ts'
import { refuseInTerminating } from '../admission/closed-namespace.ts'
import type { ApplyPatch, Deleted, PatchInPhases, Subresource, WriteOptions } from '../api-requests.ts'
import { isDefinition } from '../custom-resources/check-definition.ts'
import { CustomResources } from '../custom-resources/custom-resources.ts'
import { DefinitionCleanup } from '../custom-resources/definition-cleanup.ts'
import { withTermination } from '../custom-resources/definition-status.ts'
import type { Turns } from '../flow-control/flow-control.ts'
import type { KindRegistry } from '../kind-registry.ts'
import type { KindStore } from '../kind-store.ts'
import { type DeletionOptions, checkPreconditions, decideDeletion, isReadyToRemove } from './deletion.ts'
import { type ObjectChange, changedObject, newObject, patchedObject } from './object-phases.ts'
import { scaleKind, scaleOf, scalePathsOf } from './scale.ts'
import { type Phases, PlainTurns, atOnce, inTurns, overtaken } from './write-phases.ts'

export interface ObjectWritesOptions {
  readonly kinds: KindRegistry
  readonly store: KindStore
  readonly clock: Clock
  readonly admission: AdmissionChain
  /** Our own kinds, whose definitions are like any other once they are installed. */
  readonly builtIn: readonly Kind[]
  /** The kind of namespaces; without it, they are not checked. */
  readonly namespaces: Kind | undefined
  /** Called after every write, when the store shows it. */
  readonly onWrite: () => void
}

/** Something that is sent to a subresource and stored nowhere. */
export type PartRequest = Required<Pick<AdmissionRequest, 'operation' | 'kind' | 'subresource' | 'part'>> & {
  readonly ref: ObjectRef
}

type Change =
  | { readonly type: 'write'; readonly object: KubernetesObject; readonly release?: () => void }
  | { readonly type: 'remove' }
  | { readonly type: 'keep' }

const mostAttempts = 8
/** The attempts at which others may come in between. */
const mostPatient = 3

/**
 * Makes writes: a change is decided on the current object, admitted, and committed unless somebody else was faster;
 * then it is decided again. Also tells admission and CustomResourceDefinitions about every write.
 */
export class ObjectWrites {
  readonly #kinds: KindRegistry
  readonly #store: KindStore
  readonly #clock: Clock
  readonly #admission: AdmissionChain
  readonly #namespaces: Kind | undefined
  readonly #onWrite: () => void
  readonly #definitions: CustomResources
  readonly #cleanup: DefinitionCleanup

  constructor({ kinds, store, clock, admission, builtIn, namespaces, onWrite }: ObjectWritesOptions) {
    this.#kinds = kinds
    this.#store = store
    this.#clock = clock
    this.#admission = admission
    this.#namespaces = namespaces
    this.#onWrite = onWrite
    this.#definitions = new CustomResources({ registry: kinds, store, clock, builtIn })
    this.#cleanup = new DefinitionCleanup(kinds, store, {
      deleteObject: (kind, ref) => this.delete(kind, ref, {}, {}),
      changeDefinition: (name, change) =>
        this.#change(customResourceDefinitionKind, { name }, {}, (_kind, current) => ({
          type: 'write',
          object: change(current),
        })),
    })
  }

  /** Resumes deletions of definitions that an earlier run of this program began. */
  async resumeCleanup(): Promise<void> {
    for (const name of this.#definitions.terminating) await this.#cleanup.advance(name)
  }

  async create(
    anyKind: Kind,
    namespace: string | undefined,
    input: unknown,
    options: WriteOptions,
  ): Promise<KubernetesObject> {
    for (let attempt = 1; ; attempt++) {
      const kind = this.#kinds.served(anyKind)
      const phases = newObject({ kind, namespace, input, options, now: this.#clock.now() })
      const made = inTurns(phases, this.#turnsOf(options, attempt), () => this.#kinds.resolve(anyKind) === kind)
      const tracked = made instanceof Promise ? await made : made
      if (tracked === overtaken) continue
      this.#refuseClosedNamespace(kind, tracked)
      this.#definitions.refuseNew(kind, tracked)
      const settled = isDefinition(kind) ? this.#definitions.settle(tracked) : tracked
      const request = { operation: 'create', kind, ...askedBy(options) } as const
      const { dryRun } = options
      const object = this.#admission.complete({ ...request, object: settled })
      const release = this.#admission.admit({ ...request, object })
      try {
        if (dryRun) {
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

  /** Replaces the object or one of its subresources. */
  async update(
    anyKind: Kind,
    ref: ObjectRef,
    input: unknown,
    options: WriteOptions,
    subresource: Subresource | undefined,
  ): Promise<KubernetesObject> {
    const changed = await this.#change(anyKind, ref, options, (kind, current) =>
      this.#updated({ kind, current, options, subresource }, (change) => changedObject({ ...change, input })),
    )
    return changed.object
  }

  /** Reads, patches and replaces the object, again if somebody else changed it in between. */
  async patch(
    anyKind: Kind,
    ref: ObjectRef,
    apply: ApplyPatch | PatchInPhases,
    options: WriteOptions,
    subresource: Subresource | undefined,
  ): Promise<KubernetesObject> {
    const changed = await this.#change(anyKind, ref, options, (kind, current) =>
      this.#updated({ kind, current, options, subresource }, (change) => patchedObject(change, apply)),
    )
    return changed.object
  }

  async delete(anyKind: Kind, ref: ObjectRef, request: DeletionOptions, options: WriteOptions): Promise<Deleted> {
    const { deletion, plural, singular } = this.#kinds.served(anyKind)
    if (deletion?.lasting?.includes(ref.name)) {
      const why = `${plural} "${ref.name}" is forbidden: this ${singular} may not be deleted`
      throw new StatusError('Forbidden', why, { name: ref.name, kind: plural })
    }
    return this.#change(anyKind, ref, options, (kind, current) => this.#deleted(kind, current, request, options))
  }

  #deleted(kind: Kind, current: KubernetesObject, request: DeletionOptions, options: WriteOptions): Change {
    checkPreconditions(kind, current, request)
    this.#admission.admit({ operation: 'delete', kind, object: current, ...askedBy(options) })
    const now = this.#clock.now()
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

  /** Asks policies about what is sent to a subresource that is no part of the object. Throws the refusal. */
  judge(request: PartRequest, options: WriteOptions): void {
    const { ref, ...rest } = request
    const kind = this.#kinds.served(request.kind)
    const { name, namespace } = ref
    const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace } }
    this.#admission.judge({ ...rest, kind, object, ...askedBy(options) })
  }

  *#updated(
    change: Omit<ObjectChange, 'input' | 'now'>,
    phasesOf: (change: Omit<ObjectChange, 'input'>) => Phases<KubernetesObject>,
  ): Phases<Change> {
    const { kind, current, subresource } = change
    const tracked = yield* phasesOf({ ...change, now: this.#clock.now() })
    const next = isDefinition(kind) && !subresource ? this.#definitions.settle(tracked) : tracked
    const request = { operation: 'update', kind, previous: current, subresource, ...askedBy(change.options) } as const
    const object = subresource === 'status' ? next : this.#admission.complete({ ...request, object: next })
    if (sameJson(object, current)) return { type: 'keep' }
    if (subresource === 'status') {
      this.#admission.judge({ ...request, object })
      return { type: 'write', object }
    }
    const part = subresource === 'scale' ? scalePart(kind, object, current) : undefined
    return { type: 'write', object, release: this.#admission.admit({ ...request, object, part }) }
  }

  /** After a few attempts the work is done without pauses, so that nobody is overtaken for ever. */
  #turnsOf({ turns }: WriteOptions, attempt: number): Turns {
    return attempt > mostPatient ? atOnce : (turns ?? new PlainTurns(() => this.#clock.now()))
  }

  async #change(
    anyKind: Kind,
    ref: ObjectRef,
    options: WriteOptions,
    decide: (kind: Kind, current: KubernetesObject) => Change | Phases<Change>,
  ): Promise<Deleted> {
    for (let attempt = 1; ; attempt++) {
      const kind = this.#kinds.served(anyKind)
      const { object: current, revision } = this.#store.getKnown(kind, ref)
      const isStillTrue = () =>
        this.#store.get(kind, ref)?.revision === revision && this.#kinds.resolve(anyKind) === kind
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

  #written(kind: Kind, object: KubernetesObject): KubernetesObject {
    this.#admission.changed(kind, object, false)
    this.#onWrite()
    if (!isDefinition(kind)) return object
    this.#definitions.written(object)
    if (object.metadata.deletionTimestamp !== undefined) this.#cleanup.advanceInBackground(object.metadata.name)
    return object
  }

  #removed(kind: Kind, object: KubernetesObject): void {
    this.#admission.changed(kind, object, true)
    this.#onWrite()
    if (isDefinition(kind)) this.#definitions.removed(object)
    else if (this.#definitions.isTerminating(kind)) this.#cleanup.advanceInBackground(resourceNameOf(kind))
  }

  #refuseClosedNamespace(kind: Kind, object: KubernetesObject): void {
    if (!kind.namespaced || !this.#namespaces) return
    const name = object.metadata.namespace ?? ''
    const namespace = this.#store.get(this.#namespaces, { name })?.object
    if (!namespace) throw notFound(this.#namespaces, name)
    refuseInTerminating(kind, object, namespace)
  }
}

function askedBy({ user, dryRun, warn, annotate, isJudged }: WriteOptions) {
  return { user, dryRun, warn, annotate, isJudged }
}

function scalePart(kind: Kind, object: KubernetesObject, current: KubernetesObject): RequestPart {
  const paths = scalePathsOf(kind)
  return { kind: scaleKind, object: scaleOf(paths, object), previous: scaleOf(paths, current) }
}
