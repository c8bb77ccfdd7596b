/**
 * The fields of a kind, as in Kubernetes' own API documents: the one description that decoding, validation, defaulting,
 * pruning, strategic merge, server-side apply and the OpenAPI documents all work from. Core kinds get theirs from facts
 * condensed from a real API server, our own from their zod schemas, others from their CustomResourceDefinitions.
 *
 * Read-only. Named types may be shared and recursive (JSONSchemaProps contains itself), so never walk it without an
 * object to follow.
 */
export interface StructuralSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | undefined
  readonly format?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: StructuralSchema | boolean
  readonly items?: StructuralSchema
  readonly nullable?: boolean
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly allOf?: readonly StructuralSchema[]
  readonly anyOf?: readonly StructuralSchema[]
  readonly oneOf?: readonly StructuralSchema[]
  readonly not?: StructuralSchema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular'
  readonly 'x-kubernetes-patch-strategy'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-validations'?: readonly CelValidation[]
  /** The name of the type in Kubernetes' documents, such as `io.k8s.api.core.v1.PodSpec`, if it has one. */
  readonly 'x-sluice-type-name'?: string
  /** Fields of one of Kubernetes' own types that always hold an object, even if it is empty. */
  readonly 'x-sluice-present'?: readonly string[]
}

/** A rule in the Common Expression Language; `self` is the value it is attached to. */
export interface CelValidation {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}
