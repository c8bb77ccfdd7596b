import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/** An object as JSON, cut where its resource version goes: that is known only when the write is decided. */
export interface EncodedObject {
  readonly head: string
  readonly tail: string
}

/**
 * Taken when the write is asked for, so that a caller who changes the object afterwards changes nothing
 * here, and the same in both stores.
 */
export function encodeObject(object: KubernetesObject): EncodedObject {
  const { apiVersion, kind, metadata } = object
  const unversioned = metadata.resourceVersion === undefined ? metadata : { ...metadata, resourceVersion: undefined }
  const head = `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},"metadata":{`
  let tail = JSON.stringify(unversioned).slice(1)
  for (const field of Object.keys(object)) {
    const value = object[field]
    if (value === undefined || field === 'apiVersion' || field === 'kind' || field === 'metadata') continue
    tail += `,${JSON.stringify(field)}:${JSON.stringify(value)}`
  }
  return { head, tail: `${tail}}` }
}

/** What a store keeps of an object, and what those who see the write are shown. */
export function textOf({ head, tail }: EncodedObject, revision: number): string {
  return `${head}"resourceVersion":"${revision}"${tail.startsWith('}') ? '' : ','}${tail}`
}

/** The revision of the row counts: earlier versions of this program left it out of the text. */
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
