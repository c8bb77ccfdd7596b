import { tooLarge } from './schema-budget.ts'
import { SchemaReferences, type Scope } from './schema-references.ts'
import { type ConvertedSchema, listedParts, namedParts, valueParts } from './schema-parts.ts'

/** How many readings of one text llama.cpp may have to follow at a time: with 128 of them, a token took up to 0.2 s. */
const mostReadings = 128

/**
 * Refuses a schema whose grammar could be read in too many ways at once. llama.cpp follows each reading separately.
 * Alternatives that begin alike multiply with those nested in them, and in a schema that contains itself they multiply
 * without end.
 */
export function checkAlternatives(schema: ConvertedSchema, param: string): void {
  const references = new SchemaReferences()
  const readings = new Readings(references, param)
  readings.of(schema, references.scopeOf(schema, undefined), { owner: schema, ambiguous: false })
  if (references.multipliesInItself()) {
    throw tooLarge(param, 'contains itself among alternatives that begin alike; let each begin with a const of its own')
  }
}

interface Position {
  /** The definition that this is a part of. */
  readonly owner: ConvertedSchema
  /** Whether it is inside one of several alternatives of which it is not yet known which one is meant. */
  readonly ambiguous: boolean
}

class Readings {
  readonly #references: SchemaReferences
  readonly #param: string
  readonly #known = new Map<ConvertedSchema, number>()

  constructor(references: SchemaReferences, param: string) {
    this.#references = references
    this.#param = param
  }

  /** How many readings a text may have at most while it is read as a value of this schema. */
  of(schema: ConvertedSchema, outer: Scope, position: Position): number {
    const scope = this.#references.scopeOf(schema, outer)
    const target = this.#references.resolve(schema, scope)
    if (target) return this.#ofDefinition(target.schema, target.scope, position)
    const alternatives = listedParts(schema, 'oneOf')
    if (alternatives.length > 0) return this.#ofAlternatives(alternatives, scope, position)
    // The maximum and not the product: once a part is complete, only one reading of it is left.
    return Math.max(1, ...valueParts(schema).map((part) => this.of(part, scope, position)))
  }

  #ofDefinition(schema: ConvertedSchema, scope: Scope, { owner, ambiguous }: Position): number {
    this.#references.connect(owner, schema, ambiguous)
    const known = this.#known.get(schema)
    if (known !== undefined) return known
    this.#known.set(schema, 1)
    const count = this.of(schema, scope, { owner: schema, ambiguous: false })
    this.#known.set(schema, count)
    return count
  }

  #ofAlternatives(alternatives: readonly ConvertedSchema[], scope: Scope, position: Position): number {
    const kinds = alternatives.map((one) => this.#references.kindsOf(one, scope))
    const groups = [...new Set(kinds.flatMap((each) => [...each]))].map((kind) => {
      const members = alternatives.filter((_, index) => kinds[index]?.has(kind))
      return { members, apart: members.length < 2 || this.#areToldApart(members, scope) }
    })
    const counts = new Map(
      alternatives.map((one) => {
        const alike = groups.some(({ members, apart }) => !apart && members.includes(one))
        return [one, this.of(one, scope, { ...position, ambiguous: position.ambiguous || alike })] as const
      }),
    )
    const largest = groups.map(({ members, apart }) => {
      const each = members.map((one) => counts.get(one) ?? 1)
      return apart ? Math.max(members.length, ...each) : each.reduce((sum, count) => sum + count, 0)
    })
    const most = Math.max(1, ...largest)
    if (most > mostReadings) throw tooLarge(this.#param, `has more than ${mostReadings} alternatives that begin alike`)
    return most
  }

  /** Whether these are objects that can be distinguished by the name or the constant value of their first property. */
  #areToldApart(members: readonly ConvertedSchema[], scope: Scope): boolean {
    const perName = new Map<string, number>()
    const open = new Set<string>()
    const beginnings = new Set<string>()
    for (const one of members) {
      const { schema } = this.#references.follow(one, scope)
      const [first] = namedParts(schema, 'properties')
      if (!first || schema['type'] !== 'object') return false
      const [name, value] = first
      const values: unknown = 'const' in value ? [value['const']] : value['enum']
      if (!Array.isArray(values)) open.add(name)
      for (const each of Array.isArray(values) ? values : ['']) {
        const beginning = JSON.stringify([name, each])
        if (beginnings.has(beginning)) return false
        beginnings.add(beginning)
      }
      perName.set(name, (perName.get(name) ?? 0) + 1)
    }
    return [...open].every((name) => perName.get(name) === 1)
  }
}
