import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import type { User } from './access/identity/user.ts'
import type { FieldSelector } from './reading/field-selector.ts'
import type { Turns } from './flow-control/flow-control.ts'
import type { JsonObject } from '../resources/json-value.ts'
import type { LabelSelector } from './reading/label-selector.ts'
import type { FieldValidation } from './writing/object-decode.ts'
import type { Phases } from './writing/write-phases.ts'

/** The requests to a ClusterApi and their answers. */
export interface Selection {
  readonly namespace?: string | undefined
  readonly labels?: LabelSelector | undefined
  readonly fields?: FieldSelector | undefined
}

export interface PageRequest extends Selection {
  readonly limit?: number | undefined
  readonly continueToken?: string | undefined
  /** The question as the client asked it: a page token is only valid for the same one. */
  readonly scope?: string | undefined
}

export interface WriteOptions {
  readonly dryRun?: boolean | undefined
  readonly fieldValidation?: FieldValidation | undefined
  readonly warn?: ((warning: string) => void) | undefined
  /** Adds to the audit line of the request. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
  /** Whether policies were asked about it already, in the words of a subresource. */
  readonly isJudged?: boolean | undefined
  /** Fields that occur more than once in the body; called only when it matters. */
  readonly duplicates?: (() => readonly string[]) | undefined
  /** Who asks; `undefined` when the cluster itself does. */
  readonly user?: User | undefined
  /** The manager that owns the written fields, as in `metadata.managedFields`. */
  readonly manager?: string | undefined
  /** True when server-side apply has merged the object, which then carries its managers. */
  readonly applied?: boolean | undefined
  /** Lets others have the event loop between the phases of a long write. */
  readonly turns?: Turns | undefined
}

export type Subresource = 'status' | 'scale' | 'finalize' | 'ephemeralcontainers'

export interface Deleted {
  readonly object: KubernetesObject
  /** `false`: the object is only marked, and goes when its grace period or its finalizers are over. */
  readonly gone: boolean
}

/** Applies a patch of any format to a value: the object, or its scale. */
export type ApplyPatch = (value: JsonObject, current: KubernetesObject) => unknown

/** A patch that may take long, applied in phases. */
export interface PatchInPhases {
  phases(value: JsonObject, current: KubernetesObject): Phases<unknown>
}
