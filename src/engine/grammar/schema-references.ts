import { type ConvertedSchema, listedParts, namedParts } from './schema-parts.ts'

/** The definitions that a schema may refer to; nearer ones come first. */
export interface Scope {
  readonly definitions: ReadonlyMap<string, ConvertedSchema>
  readonly outer: Scope | undefined
}

interface Placed {
  readonly schema: ConvertedSchema
  readonly scope: Scope
}

/** The first character of the JSON values of each type. */
const firstCharacters: Readonly<Record<string, string>> = {
  object: '{',
  array: '[',
  string: '"',
  number: '0',
  integer: '0',
  boolean: 't',
  null: 'n',
}
const prefix = '#/$defs/'

/** Which schema refers to which. */
export class SchemaReferences {
  readonly #kinds = new Map<ConvertedSchema, ReadonlySet<string>>()
  readonly #edges = new Map<ConvertedSchema, Set<ConvertedSchema>>()
  readonly #ambiguous = new Map<ConvertedSchema, Set<ConvertedSchema>>()

  scopeOf(schema: ConvertedSchema, outer: Scope | undefined): Scope {
    const own = namedParts(schema, '$defs')
    if (outer && own.length === 0) return outer
    return { definitions: new Map(own), outer }
  }

  /** The schema that a `$ref` refers to; undefined when there is no `$ref`, or no such definition. */
  resolve({ $ref }: ConvertedSchema, scope: Scope): Placed | undefined {
    if (typeof $ref !== 'string') return undefined
    const name = $ref.slice(prefix.length)
    for (let at: Scope | undefined = scope; at; at = at.outer) {
      const schema = at.definitions.get(name)
      if (schema) return { schema, scope: at }
    }
    return undefined
  }

  /** The schema itself, or the one at the end of its chain of references. */
  follow(schema: ConvertedSchema, scope: Scope): Placed {
    const seen = new Set<ConvertedSchema>()
    let at: Placed = { schema, scope }
    while (!seen.has(at.schema)) {
      seen.add(at.schema)
      const next = this.resolve(at.schema, at.scope)
      if (!next) break
      at = next
    }
    return at
  }

  /** The first characters that values of a schema may have. */
  kindsOf(schema: ConvertedSchema, scope: Scope): ReadonlySet<string> {
    const known = this.#kinds.get(schema)
    if (known) return known
    // Set first for a schema that begins with itself, which has no first character of its own; llama.cpp refuses it.
    this.#kinds.set(schema, new Set())
    const kinds = this.#findKinds(schema, this.scopeOf(schema, scope))
    this.#kinds.set(schema, kinds)
    return kinds
  }

  #findKinds(schema: ConvertedSchema, scope: Scope): ReadonlySet<string> {
    const target = this.resolve(schema, scope)
    if (target) return this.kindsOf(target.schema, target.scope)
    const alternatives = listedParts(schema, 'oneOf')
    if (alternatives.length > 0) return new Set(alternatives.flatMap((one) => [...this.kindsOf(one, scope)]))
    if ('const' in schema) return new Set([kindOfValue(schema['const'])])
    if (Array.isArray(schema['enum'])) return new Set(schema['enum'].map(kindOfValue))
    const types: readonly unknown[] = Array.isArray(schema['type']) ? schema['type'] : [schema['type']]
    const known = types.flatMap((type) => (typeof type === 'string' ? (firstCharacters[type] ?? []) : []))
    // A schema without a known type may be anything.
    return new Set(known.length > 0 ? known : Object.values(firstCharacters))
  }

  connect(from: ConvertedSchema, to: ConvertedSchema, ambiguous: boolean): void {
    for (const edges of ambiguous ? [this.#edges, this.#ambiguous] : [this.#edges]) {
      edges.set(from, (edges.get(from) ?? new Set()).add(to))
    }
  }

  /** Whether a schema contains itself inside alternatives that cannot be told apart. */
  multipliesInItself(): boolean {
    for (const [from, targets] of this.#ambiguous) {
      for (const to of targets) if (this.#reaches(to, from)) return true
    }
    return false
  }

  #reaches(from: ConvertedSchema, wanted: ConvertedSchema): boolean {
    const reached = new Set([from])
    for (const schema of reached) {
      if (schema === wanted) return true
      for (const next of this.#edges.get(schema) ?? []) reached.add(next)
    }
    return false
  }
}

function kindOfValue(value: unknown): string {
  if (typeof value === 'boolean') return 't'
  if (Array.isArray(value)) return '['
  return firstCharacters[value === null ? 'null' : typeof value] ?? '"'
}
