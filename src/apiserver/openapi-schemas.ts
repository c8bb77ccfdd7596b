import { coreType } from '../resources/core-facts.ts'
import { type Kind, apiVersionOf } from '../resources/kind.ts'
import type { StructuralSchema } from '../resources/structural-schema.ts'

export type Dialect = 'v2' | 'v3'
export type JsonSchema = Record<string, unknown>

const listMetaType = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta'
const prefixes: Readonly<Record<Dialect, string>> = { v2: '#/definitions/', v3: '#/components/schemas/' }
/** What stands beside a reference, because it belongs to the field and not to the type. */
const fieldMarkers = ['x-kubernetes-patch-strategy', 'x-kubernetes-patch-merge-key', 'default', 'description'] as const
/** What OpenAPI v2 cannot say. */
const onlyV3 = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'default'])

/** Collects schemas under their names, each once, with everything they refer to. */
export class SchemaCollection {
  readonly schemas: Record<string, JsonSchema> = {}
  readonly #dialect: Dialect

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  /** The name under which a kind stands; it and its list are added. */
  addKind(kind: Kind): string {
    const name = schemaName(kind)
    const own = this.#write(kind.fields())
    own['x-kubernetes-group-version-kind'] = [groupVersionKind(kind)]
    this.schemas[name] = own
    this.schemas[`${name}List`] = {
      type: 'object',
      required: ['items'],
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: this.refTo(listMetaType),
        items: { type: 'array', items: { $ref: prefixes[this.#dialect] + name } },
      },
      'x-kubernetes-group-version-kind': [{ ...groupVersionKind(kind), kind: `${kind.kind}List` }],
    }
    return name
  }

  /** A reference to a type of Kubernetes' own, which is added. */
  refTo(name: string): JsonSchema {
    if (!this.schemas[name]) {
      // Its place is taken first: types may hold themselves.
      this.schemas[name] = {}
      const schema = coreType(name)
      this.schemas[name] = schema ? this.#write(schema) : { type: 'object' }
    }
    return { $ref: prefixes[this.#dialect] + name }
  }

  #field(schema: StructuralSchema): JsonSchema {
    const name = schema['x-sluice-type-name']
    if (name === undefined) return this.#write(schema)
    const ref = this.refTo(name)
    const beside: JsonSchema = {}
    for (const marker of fieldMarkers) if (schema[marker] !== undefined) beside[marker] = schema[marker]
    const mapType = schema['x-kubernetes-map-type']
    if (mapType !== coreType(name)?.['x-kubernetes-map-type']) beside['x-kubernetes-map-type'] = mapType
    if (Object.keys(beside).length === 0) return ref
    // OpenAPI v3 lets nothing stand beside a reference.
    return this.#dialect === 'v3' ? { ...beside, allOf: [ref] } : { ...beside, ...ref }
  }

  #write(schema: StructuralSchema): JsonSchema {
    if (schema.format === 'quantity') return this.#either('number', {})
    if (schema['x-kubernetes-int-or-string'] && schema.format === 'int-or-string') {
      return this.#either('integer', { format: 'int-or-string' })
    }
    const isV2 = this.#dialect === 'v2'
    const result: JsonSchema = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === 'x-sluice-type-name' || keyword === 'properties' || keyword === 'items') continue
      if (keyword === 'additionalProperties' || (isV2 && onlyV3.has(keyword))) continue
      result[keyword] = value
    }
    const { properties, items, additionalProperties } = schema
    if (isV2 && schema.nullable) {
      const { type: _type, nullable: _nullable, ...rest } = result
      return rest
    }
    if (properties) {
      result['properties'] = Object.fromEntries(
        Object.entries(properties).map(([field, inner]) => [field, this.#field(inner)]),
      )
    }
    if (items) result['items'] = this.#field(items)
    if (typeof additionalProperties === 'object') result['additionalProperties'] = this.#field(additionalProperties)
    else if (additionalProperties !== undefined && !isV2) result['additionalProperties'] = additionalProperties
    return result
  }

  #either(other: string, more: JsonSchema): JsonSchema {
    return this.#dialect === 'v2'
      ? { type: 'string', ...more }
      : { oneOf: [{ type: other }, { type: 'string' }], ...more }
  }
}

export function schemaRef(dialect: Dialect, name: string): JsonSchema {
  return { $ref: prefixes[dialect] + name }
}

export function groupVersionKind(kind: Kind): Record<string, string> {
  return { group: kind.group, version: kind.version, kind: kind.kind }
}

/** `api/v1`, `apis/apps/v1` */
export function groupPath(kind: Kind): string {
  return `${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`
}

function schemaName(kind: Kind): string {
  const known = kind.fields()['x-sluice-type-name']
  return known ?? `${kind.group.split('.').toReversed().join('.')}.${kind.version}.${kind.kind}`
}
