import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/** An object as JSON, split where its resource version goes, which is only known when the write is decided. */
export interface EncodedObject {
  readonly head: string
  readonly tail: string
}

/**
 * Encodes an object when the write is requested, so that changes the caller makes later have no effect; the same in
 * both stores.
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

/** The JSON that a store keeps of an object, and that is shown to those who see the write. */
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

/** The same object with another revision, which is what a deletion shows. */
export function withRevision(object: KubernetesObject, revision: number): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
}

function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false
  return typeof value.metadata === 'object' && value.metadata !== null
}
