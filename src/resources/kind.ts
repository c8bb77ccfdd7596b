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
 * A kind is a row of facts: everything that is specific to it, so that verbs, tables and CRDs are written once. Whoever
 * adds one writes its file and names it in `all-kinds.ts`; nothing else knows single kinds by their names.
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
  /** The shape: required fields and their types. Applying it fills in defaults. */
  readonly schema: z.ZodType<T>
  /** Every field it has, and what each must be: what decoding, defaults, pruning, patches and documents work from. */
  readonly fields: () => StructuralSchema
  /**
   * Kubernetes' own, or described by a CustomResourceDefinition, as ours are. The two are treated differently in many
   * ways: of a core kind wrong types are refused when it is read, its defaults and rules are code, and it takes
   * strategic merge patches; a custom one is pruned, completed and judged by its schema alone, and whoever updates it
   * must say which version it replaces.
   */
  readonly origin: 'core' | 'custom'
  readonly columns: ReadonlyArray<Column<T>>
  readonly hasStatus: boolean
  /** Of core kinds: whether `metadata.generation` counts the changes of what is wanted. Custom ones always do. */
  readonly hasGeneration?: boolean
  /** A field of the spec whose changes `metadata.generation` does not count. */
  readonly notInGeneration?: string
  /** Metadata that a write of the status leaves as it is. */
  readonly keptByStatus?: readonly MetadataWithStatus[]
  readonly scale?: ScalePaths
  /**
   * What can be done with it; everything, where nothing is said. A kind that can only be
   * created is a question: never stored.
   */
  readonly verbs?: readonly ResourceVerb[]
  /** Another kind, of which this is only another face: its objects are kept, listed and watched as that kind's. */
  readonly storage?: SharedStorage
  /** What can be reached below an object, beyond `status` and `scale`. */
  readonly subresources?: readonly SubresourceFacts[]
  /** What Kubernetes has below an object and this cluster has not: refused by name. */
  readonly refusedSubresources?: readonly string[]
  /** Fields it can be selected by, beyond its name and namespace. */
  readonly selectableFields?: readonly SelectableField[]
  /** What its name must be, where a DNS subdomain is not right. */
  readonly checkName?: NameCheck
  /** Of core kinds: what Kubernetes adds to the parts of an object, by their types. */
  readonly types?: TypeRules
  /** Of core kinds: what an update must not change. */
  readonly immutable?: readonly UpdateRule[]
  readonly deletion?: DeletionFacts<T>
  /** How many fields and items there may be in an object, where the usual bound is too low. */
  readonly mostValues?: number
  /** Said to everybody who uses this version. */
  readonly deprecationWarning?: string
  /**
   * What `validate` and patterns with look-ahead say, for a real API server: kinds that
   * become CustomResourceDefinitions.
   */
  readonly celRules?: readonly CelRule[]
  /** Of core kinds: what an object gets once its parts are complete. `previous` is there on updates. */
  complete?(object: Envelope, previous: JsonObject | undefined): Envelope
  /**
   * Of core kinds with a status: what an object begins with, instead of an empty one. What
   * was `sent` mostly does not count.
   */
  initialStatus?(object: JsonObject, sent: unknown): unknown
  /** Rules that the schema cannot say. `previous` is there on updates. */
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
  /** Of the column that shows the name, where that is not simply the first. */
  readonly format?: 'name'
  readonly type: 'string' | 'integer' | 'number' | 'date' | 'boolean'
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority?: number
  readonly description?: string
  /** Where the value is, for kinds that become CustomResourceDefinitions; simple dotted paths only. */
  readonly jsonPath?: string
  /** Computes the value where a path is not enough; wins over `jsonPath`. */
  cell?(object: T, now: number): string | number | boolean | null
}

export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** A rule in the Common Expression Language. `self` is the field at `path`. */
export interface CelRule {
  /** `spec` or `spec.url`: where the rule is attached; empty for the whole object. */
  readonly path: string
  readonly rule: string
  readonly message: string
  /** The field below `path` that is at fault, such as `.minReplicas`; otherwise `path` itself. */
  readonly fieldPath?: string
}

/** `v1` or `group/version`. */
export function apiVersionOf(kind: Pick<Kind, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
}

/** `plural` or `plural.group`: how a resource is named in messages, and its key in the store. */
export function resourceNameOf(kind: Pick<Kind, 'group' | 'plural'>): string {
  return kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`
}
