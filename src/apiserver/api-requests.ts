import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import type { User } from './access/identity/user.ts'
import type { FieldSelector } from './reading/field-selector.ts'
import type { Turns } from './flow-control/flow-control.ts'
import type { JsonObject } from '../resources/json-value.ts'
import type { LabelSelector } from './reading/label-selector.ts'
import type { FieldValidation } from './writing/object-decode.ts'
import type { Phases } from './writing/write-phases.ts'

/** What is asked of a ClusterApi, and what it answers. */
export interface Selection {
  readonly namespace?: string | undefined
  readonly labels?: LabelSelector | undefined
  readonly fields?: FieldSelector | undefined
}

export interface PageRequest extends Selection {
  readonly limit?: number | undefined
  readonly continueToken?: string | undefined
  /** What was asked, as the client said it: a page token is good only for the same question. */
  readonly scope?: string | undefined
}

export interface WriteOptions {
  readonly dryRun?: boolean | undefined
  readonly fieldValidation?: FieldValidation | undefined
  readonly warn?: ((warning: string) => void) | undefined
  /** Fields that the body says more than once; asked only when it matters. */
  readonly duplicates?: (() => readonly string[]) | undefined
  /** Who asks; nobody when it is the cluster's own doing. */
  readonly user?: User | undefined
  /** To whom the fields belong that are written; see `metadata.managedFields`. */
  readonly manager?: string | undefined
  /** The object was merged by server-side apply and brings its managers with it. */
  readonly applied?: boolean | undefined
  /** Whoever waits for a turn of the loop has it between the phases of a write that takes long. */
  readonly turns?: Turns | undefined
}

export type Subresource = 'status' | 'scale' | 'finalize' | 'ephemeralcontainers'

export interface Deleted {
  readonly object: KubernetesObject
  /** `false`: it is marked, and goes when its grace or its finalizers are over. */
  readonly gone: boolean
}

/** How a patch, of whatever format, changes a value: the object, or the scale of it. */
export type ApplyPatch = (value: JsonObject, current: KubernetesObject) => unknown

/** The same of one that may take long. */
export interface PatchInPhases {
  phases(value: JsonObject, current: KubernetesObject): Phases<unknown>
}
