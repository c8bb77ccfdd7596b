import { coreType } from '../../resources/facts/core-facts.ts'
import { type TypeWords, type Words, coreWords } from '../../resources/facts/core-words.ts'
import { type Kind, apiVersionOf } from '../../resources/kind.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'

export type Dialect = 'v2' | 'v3'
export type JsonSchema = Record<string, unknown>

const listMetaType = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta'
const objectMetaType = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
/** What it says about the fields of every object is said about those of all kinds. */
const typicalType = 'io.k8s.api.core.v1.Pod'
const prefixes: Readonly<Record<Dialect, string>> = { v2: '#/definitions/', v3: '#/components/schemas/' }
/** Markers that stand beside a reference, because they belong to the field and not to the type. */
const fieldMarkers = ['x-kubernetes-patch-strategy', 'x-kubernetes-patch-merge-key', 'default', 'description'] as const
/** The fields that every object has, and so every embedded one. */
const resourceFields: Readonly<Record<string, StructuralSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', 'x-sluice-type-name': objectMetaType },
}
/** Keywords that OpenAPI v2 does not have. */
const onlyV3 = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'default'])

/** Collects schemas by name, each once, with everything they refer to. */
export class SchemaCollection {
  readonly schemas: Record<string, JsonSchema> = {}
  readonly #dialect: Dialect
  readonly #words: Words = coreWords()
  readonly #objectWords: TypeWords

  constructor(dialect: Dialect) {
    this.#dialect = dialect
    const { apiVersion = '', kind = '', metadata = '' } = this.#words[typicalType] ?? {}
    this.#objectWords = { apiVersion, kind, metadata }
  }

  /** Adds a kind, and its list if it has one; returns the name of its schema. */
  addKind(kind: Kind, isListed: boolean): string {
    const name = schemaName(kind)
    const fields = kind.fields()
    const words = this.#wordsOf(fields) ?? this.#objectWords
    const own = this.#write(fields, words)
    // About a whole object, version 2 only says that it is one.
    if (this.#dialect === 'v2') delete own['x-kubernetes-preserve-unknown-fields']
    this.schemas[name] = {
      ...description(words['']),
      ...own,
      type: 'object',
      'x-kubernetes-group-version-kind': [groupVersionKind(kind)],
    }
    if (!isListed) return name
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

  /** A reference to one of Kubernetes' own types, which is added. */
  refTo(name: string): JsonSchema {
    if (!this.schemas[name]) {
      // The name is taken first, because types may contain themselves.
      this.schemas[name] = {}
      const schema = coreType(name)
      const words = this.#words[name] ?? {}
      this.schemas[name] = { ...description(words['']), ...(schema ? this.#write(schema, words) : { type: 'object' }) }
    }
    return { $ref: prefixes[this.#dialect] + name }
  }

  #wordsOf(schema: StructuralSchema): TypeWords | undefined {
    return this.#words[schema['x-sluice-type-name'] ?? '']
  }

  #field(schema: StructuralSchema, words?: string): JsonSchema {
    const name = schema['x-sluice-type-name']
    if (name === undefined) return { ...this.#write(schema), ...description(words) }
    const ref = this.refTo(name)
    const beside: JsonSchema = description(words)
    for (const marker of fieldMarkers) if (schema[marker] !== undefined) beside[marker] = schema[marker]
    const mapType = schema['x-kubernetes-map-type']
    if (mapType !== coreType(name)?.['x-kubernetes-map-type']) beside['x-kubernetes-map-type'] = mapType
    if (Object.keys(beside).length === 0) return ref
    // OpenAPI v3 allows nothing beside a reference.
    return this.#dialect === 'v3' ? { ...beside, allOf: [ref] } : { ...beside, ...ref }
  }

  /** Writes a schema, with words about its fields if others than its own are known. */
  #write(schema: StructuralSchema, words: TypeWords = {}): JsonSchema {
    if (schema.format === 'quantity') return this.#either('number', {})
    if (schema['x-kubernetes-int-or-string'] && schema.format === 'int-or-string') {
      return this.#either('integer', { format: 'int-or-string' })
    }
    const isV2 = this.#dialect === 'v2'
    const result: JsonSchema = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword.startsWith('x-sluice-') || (isV2 && onlyV3.has(keyword))) continue
      if (keyword === 'properties' || keyword === 'items' || keyword === 'additionalProperties') continue
      result[keyword] = value
    }
    if (!isV2 && schema['x-kubernetes-int-or-string']) result['anyOf'] ??= [{ type: 'integer' }, { type: 'string' }]
    const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
    // Kubernetes' own types do not say so: it is known that they accept anything.
    if (schema['x-sluice-type-name'] !== undefined) delete result['x-kubernetes-preserve-unknown-fields']
    else if (isV2 && (isOpen || schema.nullable)) {
      // Version 2 cannot say that anything, or null, is allowed, and its readers would refuse it: the type is left out.
      const { type: _type, nullable: _nullable, ...rest } = result
      return rest
    }
    const isResource = schema['x-kubernetes-embedded-resource'] === true
    if (isResource) result['required'] = [...new Set(['kind', 'apiVersion', ...(schema.required ?? [])])]
    const properties = isResource ? { ...schema.properties, ...resourceFields } : schema.properties
    const said = isResource ? this.#objectWords : words
    if (properties && Object.keys(properties).length > 0) {
      result['properties'] = Object.fromEntries(
        Object.entries(properties).map(([field, inner]) => [field, this.#field(inner, wordsAbout(field, said))]),
      )
    }
    const { items, additionalProperties } = schema
    if (items) result['items'] = this.#field(items)
    if (typeof additionalProperties === 'object') result['additionalProperties'] = this.#field(additionalProperties)
    else if (additionalProperties !== undefined) result['additionalProperties'] = additionalProperties
    return result
  }

  #either(other: string, more: JsonSchema): JsonSchema {
    return this.#dialect === 'v2'
      ? { type: 'string', ...more }
      : { oneOf: [{ type: other }, { type: 'string' }], ...more }
  }
}

/** A field may be named like one of the things that every object of JavaScript has. */
function wordsAbout(field: string, words: TypeWords): string | undefined {
  return Object.hasOwn(words, field) ? words[field] : undefined
}

function description(words: string | undefined): JsonSchema {
  return words === undefined ? {} : { description: words }
}

export function schemaRef(dialect: Dialect, name: string): JsonSchema {
  return { $ref: prefixes[dialect] + name }
}

export function groupVersionKind(kind: Kind): Record<string, string> {
  return { group: kind.group, kind: kind.kind, version: kind.version }
}

/** `api/v1`, `apis/apps/v1` */
export function groupPath(kind: Kind): string {
  return `${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`
}

function schemaName(kind: Kind): string {
  const known = kind.fields()['x-sluice-type-name']
  return known ?? `${kind.group.split('.').toReversed().join('.')}.${kind.version}.${kind.kind}`
}
