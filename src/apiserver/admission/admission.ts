import type { FieldError } from '../../resources/field-error.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { User } from '../access/identity/user.ts'

export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete'
  readonly kind: Kind
  /** The object as it would be stored, defaulted and valid; for a deletion, as it is stored. */
  readonly object: KubernetesObject
  readonly previous?: KubernetesObject | undefined
  /** Who asks; `undefined` when the cluster itself does. */
  readonly user?: User | undefined
  /** The part of the object that is written, where it is not all of it. */
  readonly subresource?: string | undefined
  /** True when nothing will be written. */
  readonly dryRun?: boolean | undefined
  /** Tells the caller something that is no reason to refuse; kubectl prints it. */
  readonly warn?: ((warning: string) => void) | undefined
}

/**
 * A rule that a cluster adds to a kind's own. No errors means admitted; a rule about who may do it throws its refusal.
 */
export type AdmissionRule = (request: AdmissionRequest) => readonly FieldError[]

/** A part of admission that keeps state: what it admits counts from then on. */
export interface AdmissionPlugin {
  /** Returns the object with what it lacks. Throws its refusal. */
  complete?(request: AdmissionRequest): KubernetesObject
  /**
   * Reserves what the object needs, or throws its refusal. The returned function releases the reservation; it is called
   * after `changed` when the write was made, or when it failed. Nothing is awaited from `complete` to `hold`, so no
   * other request comes in between.
   */
  hold?(request: AdmissionRequest): (() => void) | undefined
  /** Called right after each write with what is stored now; with `gone`, with what is no longer stored. */
  changed?(kind: Kind, object: KubernetesObject, gone: boolean): void
}
