import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { KindRegistry } from '../kind-registry.ts'
import type { KindStore } from '../kind-store.ts'
import { cleanupFinalizer } from './definition-status.ts'

/** The verbs of the cluster that removing a definition needs. */
export interface CleanupVerbs {
  deleteObject(kind: Kind, ref: ObjectRef): Promise<unknown>
  changeDefinition(name: string, change: (definition: KubernetesObject) => KubernetesObject): Promise<unknown>
}

/** Removes a definition that is being deleted: first its objects, and the definition when none is left. */
export class DefinitionCleanup {
  readonly #registry: KindRegistry
  readonly #store: KindStore
  readonly #verbs: CleanupVerbs

  constructor(registry: KindRegistry, store: KindStore, verbs: CleanupVerbs) {
    this.#registry = registry
    this.#store = store
    this.#verbs = verbs
  }

  /** Goes as far as it can; called again whenever an object of the definition is gone. */
  async advance(name: string): Promise<void> {
    const kind = this.#registry.list().find((served) => resourceNameOf(served) === name)
    if (kind) {
      for (const object of this.#store.list(kind, undefined).items) {
        if (object.metadata.deletionTimestamp !== undefined) continue
        await this.#verbs.deleteObject(kind, refOf(object)).catch(ignoreNotFound)
      }
      if (this.#store.list(kind, undefined).items.length > 0) return
    }
    await this.#verbs.changeDefinition(name, withoutFinalizer).catch(ignoreNotFound)
  }

  /**
   * A failure here, because the store closes or somebody else was faster, is made up for by the next removal or start.
   */
  advanceInBackground(name: string): void {
    this.advance(name).catch(() => {})
  }
}

function withoutFinalizer(definition: KubernetesObject): KubernetesObject {
  const { metadata } = definition
  const finalizers = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanupFinalizer)
  return { ...definition, metadata: { ...metadata, finalizers } }
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error
}
