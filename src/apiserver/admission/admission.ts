import type { FieldError } from '../../resources/field-error.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { User } from '../access/identity/user.ts'

export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete'
  readonly kind: Kind
  /** As it would be stored: defaulted and valid. For a deletion, as it is. */
  readonly object: KubernetesObject
  readonly previous?: KubernetesObject | undefined
  /** Who asks; nobody when it is the cluster's own doing. */
  readonly user?: User | undefined
  /** Nothing will be written. */
  readonly dryRun?: boolean | undefined
}

/** What a cluster adds to a kind's own rules. An empty answer admits; a rule about who may do it throws its refusal. */
export type AdmissionRule = (request: AdmissionRequest) => readonly FieldError[]

/** A part of admission that remembers: what it lets in counts from then on. */
export interface AdmissionPlugin {
  /** The object with what it lacks. Throws its refusal. */
  complete?(request: AdmissionRequest): KubernetesObject
  /**
   * Takes what the object needs, or throws its refusal. What it answers gives it back: called once the write was
   * made, after `changed`, or when it was not. Nothing is awaited between `complete`, `hold` and the next
   * request's: nobody comes in between.
   */
  hold?(request: AdmissionRequest): (() => void) | undefined
  /** What is stored from now on, right after each write; with `gone`, what is stored no longer. */
  changed?(kind: Kind, object: KubernetesObject, gone: boolean): void
}
