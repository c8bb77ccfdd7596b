import { describe, expect, it } from 'vitest'
import { coreKinds, customKinds } from './all-kinds.ts'
import { type Kind, apiVersionOf, resourceNameOf } from './kind.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** The names of all types that objects of a kind contain. */
function typesIn(schema: StructuralSchema, seen = new Set<string>()): ReadonlySet<string> {
  const name = schema['x-sluice-type-name']
  if (name !== undefined) {
    if (seen.has(name)) return seen
    seen.add(name)
  }
  const { items, additionalProperties, properties = {} } = schema
  const inner = [items, additionalProperties, ...Object.values(properties)]
  for (const part of inner) if (typeof part === 'object') typesIn(part, seen)
  return seen
}

const named = (kind: Kind) => `${apiVersionOf(kind)} ${kind.kind}`

describe('the kinds', () => {
  it('are each told from all others', () => {
    const names = [...coreKinds, ...customKinds].map((kind) => `${kind.version}/${resourceNameOf(kind)}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it('say where they come from', () => {
    expect(coreKinds.filter(({ origin }) => origin !== 'core').map(named)).toEqual([])
    expect(customKinds.filter(({ origin }) => origin !== 'custom').map(named)).toEqual([])
  })

  it('have rules of code only where there is no definition to say them', () => {
    const withCode = customKinds.filter(({ types, complete, initialStatus, immutable }) =>
      [types, complete, initialStatus, immutable].some((facts) => facts !== undefined),
    )
    expect(withCode.map(named)).toEqual([])
  })

  it('complete a type in the same way wherever it stands, and only types they have', () => {
    const rules = new Map(coreKinds.flatMap(({ types = {} }) => Object.entries(types)))
    const problems = coreKinds.flatMap((kind) => {
      const reached = typesIn(kind.fields())
      const { types = {} } = kind
      const otherwise = [...reached].filter((name) => types[name] !== rules.get(name))
      return otherwise.map((name) => `${named(kind)}: ${name}`)
    })
    expect(problems).toEqual([])
    const everywhere = new Set(coreKinds.flatMap((kind) => [...typesIn(kind.fields())]))
    expect([...rules.keys()].filter((name) => !everywhere.has(name))).toEqual([])
  })

  it('can be selected by fields they have', () => {
    const unknown = coreKinds.flatMap((kind) =>
      (kind.selectableFields ?? []).flatMap((selectable) => {
        const { field, from = [field] } = typeof selectable === 'string' ? { field: selectable } : selectable
        return from.some((path) => hasField(kind.fields(), path.split('.'))) ? [] : `${named(kind)}: ${field}`
      }),
    )
    expect(unknown).toEqual([])
  })
})

function hasField(schema: StructuralSchema, [field, ...rest]: readonly string[]): boolean {
  if (field === undefined) return true
  const inner = schema.properties?.[field]
  return inner !== undefined && hasField(inner, rest)
}
