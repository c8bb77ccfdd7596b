import type { z } from 'zod'
import type { FieldError } from './field-error.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** A kind is a row of facts: everything that is specific to it, so that verbs, tables and CRDs are written once. */
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
  /** Fields the schema does not name: kept (core kinds, whose schema lists only what we use) or pruned (ours). */
  readonly unknownFields: 'keep' | 'prune'
  readonly columns: ReadonlyArray<Column<T>>
  readonly hasStatus: boolean
  /** Of Kubernetes' own kinds: whether `metadata.generation` counts the changes of what is wanted. Ours always do. */
  readonly hasGeneration?: boolean
  readonly scale?: ScalePaths
  /** What can be done with it; everything, where nothing is said. A kind that can only be created is a question: never stored. */
  readonly verbs?: readonly ResourceVerb[]
  /** Another kind, of which this is only another face: its objects are kept, listed and watched as that kind's. */
  readonly storage?: SharedStorage
  /** Fields it can be selected by, beyond its name and namespace, where its definition says so: `spec.colour`. */
  readonly selectableFields?: readonly string[]
  /** Said to everybody who uses this version. */
  readonly deprecationWarning?: string
  /** What `validate` and patterns with look-ahead say, for a real API server: kinds that become CustomResourceDefinitions. */
  readonly celRules?: readonly CelRule[]
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
