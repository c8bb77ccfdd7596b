import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/**
 * What a store keeps of an object: JSON without its resource version, which the revision of its row says. Taken when the
 * write is asked for, so that a caller who changes the object afterwards changes nothing here, and the same in both stores.
 */
export function encodeObject(object: KubernetesObject): string {
  return JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: undefined } })
}

export function decodeObject(text: string, revision: number): KubernetesObject {
  const object: unknown = JSON.parse(text)
  if (!isKubernetesObject(object)) throw new Error(`revision ${revision} does not hold an object with metadata`)
  object.metadata.resourceVersion = String(revision)
  return object
}

/** The same object under another revision: what a deletion shows. */
export function withRevision(object: KubernetesObject, revision: number): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
}

function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false
  return typeof value.metadata === 'object' && value.metadata !== null
}
