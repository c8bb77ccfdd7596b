import type { z } from 'zod'
import type { FieldError } from './field-error.ts'
import type { KubernetesObject } from './kubernetes-object.ts'

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
  /** Fields the schema does not name: kept (core kinds, whose schema lists only what we use) or pruned (ours). */
  readonly unknownFields: 'keep' | 'prune'
  readonly columns: ReadonlyArray<Column<T>>
  readonly hasStatus: boolean
  readonly scale?: ScalePaths
  /** What `validate` and patterns with look-ahead say, for a real API server: kinds that become CustomResourceDefinitions. */
  readonly celRules?: readonly CelRule[]
  /** Rules that the schema cannot say. `previous` is there on updates. */
  validate?(object: T, previous: T | undefined): FieldError[]
}

/** A column of `kubectl get`, after the name. */
export interface Column<T = KubernetesObject> {
  readonly name: string
  readonly type: 'string' | 'integer' | 'date' | 'boolean'
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority?: number
  readonly description?: string
  /** Where the value is, for kinds that become CustomResourceDefinitions; simple dotted paths only. */
  readonly jsonPath?: string
  /** Computes the value where a path is not enough; wins over `jsonPath`. */
  cell?(object: T, now: number): string | number
}

export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** A rule in the Common Expression Language. `self` is the field at `path`. */
export interface CelRule {
  /** `spec` or `spec.url`: where the rule is attached. */
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
