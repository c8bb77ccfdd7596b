import type { z } from 'zod'
import type { FieldError } from './field-error.ts'
import type { JsonObject } from './json-value.ts'
import type { DeletionFacts, Envelope, MetadataWithStatus, SelectableField, SubresourceFacts } from './kind-facts.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import type { StructuralSchema } from './structural-schema.ts'
import type { TypeRules } from './type-rules.ts'
import type { UpdateRule } from './update-rules.ts'
import type { NameCheck } from './validation/name-syntax.ts'

/**
 * A kind is a row of facts: everything that is specific to it, so that verbs, tables and CRDs are written once. To add
 * one, write its file and name it in `all-kinds.ts`; nothing else knows single kinds by name.
 */
export interface Kind<T extends KubernetesObject = KubernetesObject> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** The shape: required fields and their types. Parsing with it fills in defaults. */
  readonly schema: z.ZodType<T>
  /** Every field and what it must be, for decoding, defaults, pruning, patches and documents. */
  readonly fields: () => StructuralSchema
  /**
   * Kubernetes' own, or described by a CustomResourceDefinition, as ours are. The two are treated differently in many
   * ways: for a core kind, wrong types are refused when it is read, defaults and rules are code, and strategic merge
   * patches are accepted; a custom one is pruned, defaulted and validated by its schema alone, and an update must say
   * which version it replaces.
   */
  readonly origin: 'core' | 'custom'
  readonly columns: ReadonlyArray<Column<T>>
  readonly hasStatus: boolean
  /** For core kinds: whether `metadata.generation` counts changes of the spec. For custom ones it always does. */
  readonly hasGeneration?: boolean
  /** A field of the spec whose changes do not count for `metadata.generation`. */
  readonly notInGeneration?: string
  /** Metadata that a status write leaves as it is. */
  readonly keptByStatus?: readonly MetadataWithStatus[]
  readonly scale?: ScalePaths
  /**
   * What can be done with it; everything by default. A kind that can only be created is a question that is answered and
   * never stored; one that can only be read is measured when it is read.
   */
  readonly verbs?: readonly ResourceVerb[]
  /** Another kind of which this is only a view: its objects are stored, listed and watched as that kind's. */
  readonly storage?: SharedStorage
  /** Subresources beyond `status` and `scale`. */
  readonly subresources?: readonly SubresourceFacts[]
  /** Subresources that Kubernetes has and this cluster has not: refused by name. */
  readonly refusedSubresources?: readonly string[]
  /** Fields it can be selected by, beyond name and namespace. */
  readonly selectableFields?: readonly SelectableField[]
  /** The rule for its name, if that is not a DNS subdomain. */
  readonly checkName?: NameCheck
  /** For core kinds: what Kubernetes adds to the parts of an object, by their types. */
  readonly types?: TypeRules
  /** For core kinds: what an update must not change. */
  readonly immutable?: readonly UpdateRule[]
  readonly deletion?: DeletionFacts<T>
  /** The most fields and items of an object, where the usual bound is too low. */
  readonly mostValues?: number
  /** The warning for everybody who uses this version. */
  readonly deprecationWarning?: string
  /**
   * The CEL form of `validate` and of patterns with look-ahead, for a real API server: for kinds that become
   * CustomResourceDefinitions.
   */
  readonly celRules?: readonly CelRule[]
  /** For core kinds: completes an object whose parts are complete. `previous` is set on updates. */
  complete?(object: Envelope, previous: JsonObject | undefined): Envelope
  /** For core kinds with a status: the initial status, instead of an empty one. What was `sent` is mostly ignored. */
  initialStatus?(object: JsonObject, sent: unknown): unknown
  /** Rules that the schema cannot express. `previous` is set on updates. */
  validate?(object: T, previous: T | undefined): FieldError[]
}

export type ResourceVerb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch'

export interface SharedStorage {
  readonly kind: Kind
  toStored(object: KubernetesObject): KubernetesObject
  fromStored(object: KubernetesObject): KubernetesObject
}

/** A column of `kubectl get`, after the name. */
export interface Column<T = KubernetesObject> {
  readonly name: string
  /** Marks the column that shows the name, if it is not simply the first. */
  readonly format?: 'name'
  readonly type: 'string' | 'integer' | 'number' | 'date' | 'boolean'
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority?: number
  readonly description?: string
  /** Where the value is, for kinds that become CustomResourceDefinitions; simple dotted paths only. */
  readonly jsonPath?: string
  /** Computes the value where a path is not enough; takes precedence over `jsonPath`. */
  cell?(object: T, now: number): string | number | boolean | null
}

export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** A rule in the Common Expression Language. `self` is the field at `path`. */
export interface CelRule {
  /** Where the rule is attached: `spec` or `spec.url`; empty for the whole object. */
  readonly path: string
  readonly rule: string
  readonly message: string
  /** The field below `path` that is at fault, such as `.minReplicas`; by default `path` itself. */
  readonly fieldPath?: string
}

/** `v1` or `group/version`. */
export function apiVersionOf(kind: Pick<Kind, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
}

/** `plural` or `plural.group`: the name of a resource in messages, and its key in the store. */
export function resourceNameOf(kind: Pick<Kind, 'group' | 'plural'>): string {
  return kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`
}
