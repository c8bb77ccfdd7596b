import type { JsonObject } from './json-value.ts'

/** An object on its way in: it is of its kind, but what is in it is not known yet. */
export interface Envelope extends JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: JsonObject
}

/** Something of an object that is reached under a name of its own, below the object's. */
export interface SubresourceFacts {
  readonly name: string
  readonly verbs: readonly string[]
  /** What discovery says it is answered with. */
  readonly responseKind: GroupVersionKind
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** A field that objects can be selected by: `status.phase`. Mostly its path says everything. */
export type SelectableField =
  | string
  | {
      readonly field: string
      /** Where the value is, when not at the path that the field is called by; the first that says something counts. */
      readonly from?: readonly string[]
      /** What counts as its value where there is none. */
      readonly whenMissing?: string
    }

/** What is special about the end of a kind's objects. Others go at once, or when the last finalizer is taken off. */
export interface DeletionFacts<T> {
  /** Objects of these names stay for ever. */
  readonly lasting?: readonly string[]
  /** Whoever deletes is answered with the object itself, where otherwise a Status says that it is gone. */
  readonly answersWithObject?: boolean
  /** How long an object has to end by itself, when so many seconds were asked for, or nothing was said. */
  graceSeconds?(object: T, asked: number | undefined): number
  /** Whether something other than a finalizer still keeps an object. */
  isHeld?(object: T): boolean
  /** What an object says about itself from when its deletion is asked for. */
  marked?(object: T): T
}

/** Metadata that others than its owner may write together with an object's status. */
export const metadataWithStatus = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const

export type MetadataWithStatus = (typeof metadataWithStatus)[number]

export const coreV1 = (kind: string): GroupVersionKind => ({ group: '', version: 'v1', kind })

/** What can be sent through to a Pod or a Service. */
export const proxyVerbs: readonly string[] = ['create', 'delete', 'get', 'patch', 'update']
