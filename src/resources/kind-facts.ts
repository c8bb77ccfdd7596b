import type { JsonObject } from './json-value.ts'

/** An incoming object: its kind is known, but its content is not checked yet. */
export interface Envelope extends JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: JsonObject
}

/** A part of an object with a path of its own below the object's. */
export interface SubresourceFacts {
  readonly name: string
  readonly verbs: readonly string[]
  /** The kind of its answers, for discovery. */
  readonly responseKind: GroupVersionKind
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** A field that objects can be selected by, such as `status.phase`. Mostly the path is all there is to say. */
export type SelectableField =
  | string
  | {
      readonly field: string
      /** Where the value is, if not at the path of the name; the first path with a value counts. */
      readonly from?: readonly string[]
      /** The value of the field where it is missing. */
      readonly whenMissing?: string
    }

/** What is special about deleting a kind's objects. Others go at once, or when the last finalizer is removed. */
export interface DeletionFacts<T> {
  /** Objects with these names cannot be deleted. */
  readonly lasting?: readonly string[]
  /** A deletion is answered with the object itself instead of a Status. */
  readonly answersWithObject?: boolean
  /** How long an object has to end by itself, for the requested number of seconds or the default. */
  graceSeconds?(object: T, asked: number | undefined): number
  /** Whether something other than a finalizer still keeps an object. */
  isHeld?(object: T): boolean
  /** The object once its deletion is requested. */
  marked?(object: T): T
}

/** Metadata that may be written together with an object's status. */
export const metadataWithStatus = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const

export type MetadataWithStatus = (typeof metadataWithStatus)[number]

export const coreV1 = (kind: string): GroupVersionKind => ({ group: '', version: 'v1', kind })

/** The verbs of requests that are passed through to a Pod or a Service. */
export const proxyVerbs: readonly string[] = ['create', 'delete', 'get', 'patch', 'update']
