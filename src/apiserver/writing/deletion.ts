import type { Kind } from '../../resources/kind.ts'
import { type KubernetesObject, timestamp } from '../../resources/kubernetes-object.ts'
import { conflict } from '../../resources/status-error.ts'

export interface DeletionOptions {
  readonly graceSeconds?: number | undefined
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined
}

export type DeletionStep =
  | { readonly type: 'remove' }
  | { readonly type: 'mark'; readonly object: KubernetesObject }
  | { readonly type: 'wait' }

/** What a delete request does to an object now: remove it, mark it, or nothing because it is already being deleted. */
export function decideDeletion(
  kind: Kind,
  object: KubernetesObject,
  options: DeletionOptions,
  now: number,
): DeletionStep {
  const grace = kind.deletion?.graceSeconds?.(object, options.graceSeconds) ?? 0
  const finalizers = finalizersFor(object.metadata.finalizers ?? [], options.propagation)
  if (grace === 0 && finalizers.length === 0 && !isHeld(kind, object)) return { type: 'remove' }

  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata
  const marked = deletionTimestamp !== undefined
  if (marked && grace >= deletionGracePeriodSeconds && sameNames(finalizers, object.metadata.finalizers ?? [])) {
    return { type: 'wait' }
  }
  // A shorter grace period counts from when deletion was first requested.
  const askedAt = marked ? Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000 : now
  const granted = marked ? Math.min(grace, deletionGracePeriodSeconds) : grace
  const { finalizers: _before, ...metadata } = object.metadata
  const next: KubernetesObject = {
    ...(kind.deletion?.marked?.(object) ?? object),
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      deletionTimestamp: timestamp(askedAt + granted * 1000),
      deletionGracePeriodSeconds: granted,
    },
  }
  return { type: 'mark', object: next }
}

/** Whether a marked object is free to go: an update that leaves it like this removes it. */
export function isReadyToRemove(kind: Kind, object: KubernetesObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined || finalizers.length > 0 || deletionGracePeriodSeconds > 0) return false
  return !isHeld(kind, object)
}

function finalizersFor(current: readonly string[], propagation: DeletionOptions['propagation']): string[] {
  if (propagation === undefined) return [...current]
  const others = current.filter((name) => name !== 'foregroundDeletion' && name !== 'orphan')
  if (propagation === 'Foreground') return [...others, 'foregroundDeletion']
  if (propagation === 'Orphan') return [...others, 'orphan']
  return others
}

function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name))
}

function isHeld(kind: Kind, object: KubernetesObject): boolean {
  return kind.deletion?.isHeld?.(object) === true
}

/** Checks the uid and version that a deletion may name. */
export function checkPreconditions(
  kind: Kind,
  { metadata }: KubernetesObject,
  { uid, resourceVersion }: DeletionOptions,
): void {
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`
    throw conflict(kind, metadata.name, why)
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    throw conflict(kind, metadata.name, why)
  }
}
