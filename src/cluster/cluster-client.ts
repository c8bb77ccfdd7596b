import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject, ObjectRef } from '../resources/kubernetes-object.ts'

/**
 * How controllers see any cluster; there is no other way to it. Two implementations, one contract suite. Refusals are
 * `StatusError`s with Kubernetes' reasons (NotFound, AlreadyExists, Conflict, Invalid, Expired, …).
 */
export interface ClusterClient {
  /** `undefined` when there is no such object. */
  get<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef, signal?: AbortSignal): Promise<T | undefined>
  list<T extends KubernetesObject>(kind: Kind<T>, options?: ListOptions, signal?: AbortSignal): Promise<ObjectList<T>>
  create<T extends KubernetesObject>(kind: Kind<T>, object: NewObject<T>, signal?: AbortSignal): Promise<T>
  /** Replaces the object; Conflict when `metadata.resourceVersion` is not the newest. */
  update<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T>
  /** Replaces only the status. */
  updateStatus<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T>
  /**
   * Computes the status from the current object, whatever its version, so that nothing others write meanwhile, such as
   * labels, is lost.
   */
  changeStatus<T extends KubernetesObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    change: (current: T) => T,
    signal?: AbortSignal,
  ): Promise<T>
  /** JSON merge patch (RFC 7396). */
  patch<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef, patch: MergePatch, signal?: AbortSignal): Promise<T>
  /** Resolves when the deletion is accepted; NotFound when there is nothing to delete. */
  delete(kind: Kind, ref: ObjectRef, options?: DeleteOptions, signal?: AbortSignal): Promise<void>
  /**
   * Ends without an error when the signal is aborted or the server closes it; throws Expired when the version is too
   * old.
   */
  watch<T extends KubernetesObject>(
    kind: Kind<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>
  /** Sets the replicas through the scale subresource. */
  scale(kind: Kind, ref: ObjectRef, replicas: number, signal?: AbortSignal): Promise<void>
}

export interface ListOptions {
  readonly namespace?: string | undefined
  /** Equality only: every label must have this value. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Equality only, and only of fields that the kind can be selected by. */
  readonly fields?: Readonly<Record<string, string>> | undefined
}

export interface ObjectList<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
}

export interface WatchOptions extends ListOptions {
  /** Events after this version. */
  readonly resourceVersion: string
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }

/** An object to create: apiVersion and kind are filled in from the kind, defaults by the server. */
export type NewObject<T extends KubernetesObject> = {
  metadata: Partial<T['metadata']>
  [field: string]: unknown
}

export interface MergePatch {
  readonly [field: string]: unknown
}

export interface DeleteOptions {
  readonly graceSeconds?: number | undefined
  /** Delete only if the object still has this uid. */
  readonly uid?: string | undefined
  /** Delete only if the object is still as it was in this version. */
  readonly resourceVersion?: string | undefined
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined
}
