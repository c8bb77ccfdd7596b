import type { FieldError } from '../../resources/field-error.ts'
import type { JsonObject } from '../../resources/json-value.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { User } from '../access/identity/user.ts'

/**
 * What is sent to a subresource that is of another kind than the object: a Scale, a Binding, the options of an exec.
 */
export interface RequestPart {
  readonly kind: Pick<Kind, 'group' | 'version' | 'kind'>
  readonly object: JsonObject
  readonly previous?: JsonObject | undefined
}

export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete' | 'connect'
  readonly kind: Kind
  /**
   * The object as it would be stored, defaulted and valid; for a deletion, as it is stored; for a connection, only its
   * name and namespace.
   */
  readonly object: KubernetesObject
  readonly previous?: KubernetesObject | undefined
  /** Who asks; `undefined` when the cluster itself does. */
  readonly user?: User | undefined
  /** The part of the object that is written, where it is not all of it. */
  readonly subresource?: string | undefined
  readonly part?: RequestPart | undefined
  /** Whether policies were asked about it already, as about the Binding that this write carries out. */
  readonly isJudged?: boolean | undefined
  /** True when nothing will be written. */
  readonly dryRun?: boolean | undefined
  /** Tells the caller something that is no reason to refuse; kubectl prints it. */
  readonly warn?: ((warning: string) => void) | undefined
  /** Adds to the audit line of the request. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
}

/**
 * A rule that a cluster adds to a kind's own. No errors means admitted; a rule about who may do it throws its refusal.
 */
export type AdmissionRule = (request: AdmissionRequest) => readonly FieldError[]

/** A part of admission that keeps state: what it admits counts from then on. */
export interface AdmissionPlugin {
  /** Returns the object with what it lacks. Throws its refusal. */
  complete?(request: AdmissionRequest): KubernetesObject
  /** Throws its refusal of what is asked for, which may also be a part of an object or a connection into one. */
  judge?(request: AdmissionRequest): void
  /**
   * Reserves what the object needs, or throws its refusal. The returned function releases the reservation; it is called
   * after `changed` when the write was made, or when it failed. Nothing is awaited from `complete` to `hold`, so no
   * other request comes in between.
   */
  hold?(request: AdmissionRequest): (() => void) | undefined
  /** Called right after each write with what is stored now; with `gone`, with what is no longer stored. */
  changed?(kind: Kind, object: KubernetesObject, gone: boolean): void
}
