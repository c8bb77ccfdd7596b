/** The format of the condensed facts: named types once, each field as briefly as possible. */
export interface Facts {
  /** `v1/Pod`, `apps/v1/Deployment` → the name of its type. */
  readonly kinds: Readonly<Record<string, string>>
  readonly types: Readonly<Record<string, TypeFacts>>
}

/** A type without fields is free-form, unless it is a scalar (`is`). */
export interface TypeFacts {
  readonly is?: string
  readonly required?: readonly string[]
  /** Fields that hold a struct by value: Go always writes them, so nobody ever adds them. */
  readonly present?: readonly string[]
  readonly fields?: Readonly<Record<string, FieldFacts>>
  readonly mapType?: 'atomic' | 'granular'
}

/** `string`, `integer/int32`, `#<type name>`, or a longer form. */
export type FieldFacts = string | LongFieldFacts

export interface LongFieldFacts {
  /** For a scalar or a named type. */
  readonly is?: string
  /** For a list. */
  readonly items?: FieldFacts
  /** For a map. */
  readonly values?: FieldFacts
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listKeys?: readonly string[]
  readonly mapType?: 'atomic' | 'granular'
  readonly patch?: string
  readonly mergeKey?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
}
