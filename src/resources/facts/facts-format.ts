/** How the condensed facts are written down: named types once, each field as briefly as it can be said. */
export interface Facts {
  /** `v1/Pod`, `apps/v1/Deployment` → the name of its type. */
  readonly kinds: Readonly<Record<string, string>>
  readonly types: Readonly<Record<string, TypeFacts>>
}

/** A type without fields is free-form, unless it is a scalar (`is`). */
export interface TypeFacts {
  readonly is?: string
  readonly required?: readonly string[]
  /** Fields that hold a struct by value: Go always has them, so nobody is ever said to have added them. */
  readonly present?: readonly string[]
  readonly fields?: Readonly<Record<string, FieldFacts>>
  readonly mapType?: 'atomic' | 'granular'
}

/** `string`, `integer/int32`, `#<type name>`, or more about it. */
export type FieldFacts = string | LongFieldFacts

export interface LongFieldFacts {
  /** Of a scalar or a named type. */
  readonly is?: string
  /** Of a list. */
  readonly items?: FieldFacts
  /** Of a map. */
  readonly values?: FieldFacts
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listKeys?: readonly string[]
  readonly mapType?: 'atomic' | 'granular'
  readonly patch?: string
  readonly mergeKey?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
}
