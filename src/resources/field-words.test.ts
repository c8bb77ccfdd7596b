import { describe, expect, it } from 'vitest'
import { customKinds } from './all-kinds.ts'
import { metricsKinds } from './resource-metrics.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** These are Kubernetes' own, in all kinds, and have its words. */
const ofEveryObject = ['apiVersion', 'kind', 'metadata']

/** The paths of fields about which nothing is said. */
function wordless(schema: StructuralSchema, path: string): string[] {
  const own = (schema.description ?? '') === '' ? [path] : []
  return [...own, ...wordlessBelow(schema, path)]
}

function wordlessBelow({ properties, items, additionalProperties }: StructuralSchema, path: string): string[] {
  const fields = Object.entries(properties ?? {}).filter(([name]) => !ofEveryObject.includes(name))
  return [
    ...fields.flatMap(([name, field]) => wordless(field, `${path}.${name}`)),
    ...(items === undefined ? [] : wordlessBelow(items, path)),
    ...(typeof additionalProperties === 'object' ? wordlessBelow(additionalProperties, path) : []),
  ]
}

describe('the words about our kinds, which `kubectl explain` shows', () => {
  it.each([...customKinds, ...metricsKinds].map((kind) => [kind.kind, kind] as const))(
    'are there for every field of %s',
    (name, kind) => {
      expect(wordless(kind.fields(), name)).toEqual([])
    },
  )
})
