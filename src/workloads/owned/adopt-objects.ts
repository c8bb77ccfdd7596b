import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Kind } from '../../resources/kind.ts'
import { type KubernetesObject, type OwnerReference, refOf } from '../../resources/kubernetes-object.ts'
import type { LabelSelector } from '../../resources/pod-template.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { isEmptySelector, selects } from '../../resources/validation/label-selector-rules.ts'
import { controllerOf } from './owned-objects.ts'

export interface Owner extends KubernetesObject {
  spec: { selector?: LabelSelector | undefined }
}

/** Which objects an owner keeps, adopts and releases. */
export interface Adoption<T> {
  readonly kept: readonly T[]
  readonly adopt: readonly T[]
  readonly release: readonly T[]
}

/**
 * Which objects belong to an owner by its selector: it keeps its own that match, adopts orphans that match, and
 * releases its own that do not.
 */
export function planAdoption<T extends KubernetesObject>(
  owner: Owner,
  owned: readonly T[],
  orphans: readonly T[],
): Adoption<T> {
  const selector = owner.spec.selector ?? {}
  const isSelected = ({ metadata }: T) => !isEmptySelector(selector) && selects(selector, metadata.labels ?? {})
  const leaving = owner.metadata.deletionTimestamp !== undefined
  return {
    kept: owned.filter(isSelected),
    // An owner that is being deleted neither adopts nor releases; an object that is being deleted is not adopted.
    adopt: leaving ? [] : orphans.filter((object) => isSelected(object) && !object.metadata.deletionTimestamp),
    release: leaving ? [] : owned.filter((object) => !isSelected(object)),
  }
}

export function controllerReference({ apiVersion, kind, metadata }: KubernetesObject): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: true }
}

/**
 * Carries the plan out and returns the objects that belong to the owner now. Throws when one could not be adopted, so
 * that it is tried again.
 */
export async function adoptObjects<T extends KubernetesObject>(
  client: ClusterClient,
  kinds: { readonly owner: Kind; readonly owned: Kind<T> },
  owner: Owner,
  { kept, adopt: orphans, release: leaving }: Adoption<T>,
  signal: AbortSignal,
): Promise<readonly T[]> {
  for (const object of leaving) await release(client, kinds.owned, owner, object, signal)
  if (orphans.length === 0) return kept
  // Read from the cluster: an owner that is already gone must not adopt anything.
  const current = await client.get(kinds.owner, refOf(owner), signal)
  if (current?.metadata.uid !== owner.metadata.uid || current?.metadata.deletionTimestamp !== undefined) {
    return kept
  }
  const adopted: T[] = []
  for (const object of orphans) {
    const taken = await adopt(client, kinds.owned, owner, object, signal)
    if (taken) adopted.push(taken)
  }
  return [...kept, ...adopted]
}

async function adopt<T extends KubernetesObject>(
  client: ClusterClient,
  kind: Kind<T>,
  owner: KubernetesObject,
  object: T,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata
  const metadata = { uid, resourceVersion, ownerReferences: [...ownerReferences, controllerReference(owner)] }
  try {
    return await client.patch(kind, refOf(object), { metadata }, signal)
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}

async function release<T extends KubernetesObject>(
  client: ClusterClient,
  kind: Kind<T>,
  owner: KubernetesObject,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  if (controllerOf(object)?.uid !== owner.metadata.uid) return
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata
  const kept = ownerReferences.filter((reference) => reference.uid !== owner.metadata.uid)
  try {
    await client.patch(kind, refOf(object), { metadata: { uid, resourceVersion, ownerReferences: kept } }, signal)
  } catch (error) {
    // Gone, or another object by now: there is nothing left to release.
    if (!isStatusError(error, 'NotFound', 'Invalid')) throw error
  }
}
