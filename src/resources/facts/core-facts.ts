import { readFileSync } from 'node:fs'
import type { Facts, FieldFacts, LongFieldFacts, TypeFacts } from './facts-format.ts'
import type { StructuralSchema } from '../structural-schema.ts'

type Markers = Omit<LongFieldFacts, 'is' | 'items' | 'values'>
type Mutable = { -readonly [Keyword in keyof StructuralSchema]: StructuralSchema[Keyword] }

let loaded: Facts | undefined
const namedTypes = new Map<string, StructuralSchema>()
const scalars = new Map<string, StructuralSchema>()

/**
 * The fields of one of Kubernetes' own kinds. Types are shared between kinds and built when first looked into.
 *
 * A quantity has no `type` but the format `quantity`: a string or a number. Free-form values preserve unknown fields.
 */
export function coreSchema(group: string, version: string, kind: string): StructuralSchema {
  const name = typeOfKind(group, version, kind)
  if (name === undefined) throw new Error(`there are no facts about ${group}/${version} ${kind}`)
  return typeNamed(name)
}

export function hasCoreSchema(group: string, version: string, kind: string): boolean {
  return typeOfKind(group, version, kind) !== undefined
}

function typeOfKind(group: string, version: string, kind: string): string | undefined {
  const { kinds } = facts()
  const key = group === '' ? `${version}/${kind}` : `${group}/${version}/${kind}`
  return Object.hasOwn(kinds, key) ? kinds[key] : undefined
}

/** A type by its name in Kubernetes' documents, such as `io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`. */
export function coreType(name: string): StructuralSchema | undefined {
  return Object.hasOwn(facts().types, name) ? typeNamed(name) : undefined
}

function facts(): Facts {
  // Read on first use: an attached cluster never needs it.
  loaded ??= parseFacts(readFileSync(new URL('core-facts.json', import.meta.url), 'utf8'))
  return loaded
}

function parseFacts(text: string): Facts {
  return JSON.parse(text)
}

function typeNamed(name: string): StructuralSchema {
  const known = namedTypes.get(name)
  if (known) return known
  const schema = schemaOfType(name, {})
  namedTypes.set(name, schema)
  return schema
}

function schemaOfType(name: string, markers: Markers): StructuralSchema {
  const type = facts().types[name]
  if (!type) throw new Error(`there are no facts about the type ${name}`)
  const { is, required, mapType } = type
  const schema: Mutable = { ...(is === undefined ? {} : scalar(is)) }
  if (type.fields) schema.type = 'object'
  else if (is === undefined || is === 'object') schema['x-kubernetes-preserve-unknown-fields'] = true
  if (required) schema.required = required
  if (type.present) schema['x-sluice-present'] = type.present
  if (mapType) schema['x-kubernetes-map-type'] = mapType
  schema['x-sluice-type-name'] = name
  mark(schema, markers)
  if (type.fields) defineLazily(schema, type)
  return schema
}

/** Types may contain themselves, and most are never looked into. */
function defineLazily(schema: object, type: TypeFacts): void {
  Object.defineProperty(schema, 'properties', {
    configurable: true,
    enumerable: true,
    get: () => {
      const value = propertiesOf(type)
      Object.defineProperty(schema, 'properties', { value, enumerable: true })
      return value
    },
  })
}

const builtProperties = new WeakMap<TypeFacts, Readonly<Record<string, StructuralSchema>>>()

function propertiesOf(type: TypeFacts): Readonly<Record<string, StructuralSchema>> {
  const known = builtProperties.get(type)
  if (known) return known
  // Without a prototype, so that a field named like one of Object's is not found there.
  const built: Record<string, StructuralSchema> = Object.create(null)
  for (const [field, of] of Object.entries(type.fields ?? {})) built[field] = schemaOfField(of)
  builtProperties.set(type, built)
  return built
}

function schemaOfField(field: FieldFacts): StructuralSchema {
  if (typeof field === 'string') return field.startsWith('#') ? typeNamed(field.slice(1)) : scalar(field)
  const { is, items, values, ...markers } = field
  if (is?.startsWith('#')) return schemaOfType(is.slice(1), markers)
  const schema: Mutable = is === undefined ? {} : { ...scalar(is) }
  if (items !== undefined) {
    schema.type = 'array'
    schema.items = schemaOfField(items)
  } else if (values !== undefined) {
    schema.type = 'object'
    schema.additionalProperties = schemaOfField(values)
  }
  return mark(schema, markers)
}

function mark(schema: Mutable, markers: Markers): StructuralSchema {
  if (markers.listType) schema['x-kubernetes-list-type'] = markers.listType
  if (markers.listKeys) schema['x-kubernetes-list-map-keys'] = markers.listKeys
  if (markers.mapType) schema['x-kubernetes-map-type'] = markers.mapType
  if (markers.patch) schema['x-kubernetes-patch-strategy'] = markers.patch
  if (markers.mergeKey) schema['x-kubernetes-patch-merge-key'] = markers.mergeKey
  if (markers.enum) schema.enum = markers.enum
  if (markers.default !== undefined) schema.default = markers.default
  return schema
}

function scalar(name: string): StructuralSchema {
  const known = scalars.get(name)
  if (known) return known
  const schema = scalarSchema(name)
  scalars.set(name, schema)
  return schema
}

function scalarSchema(name: string): StructuralSchema {
  const [type = '', format] = name.split('/')
  switch (type) {
    case 'quantity':
      return { format: 'quantity' }
    case 'int-or-string':
      return { 'x-kubernetes-int-or-string': true, format: 'int-or-string' }
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
    case 'object':
      return format === undefined ? { type } : { type, format }
    default:
      throw new Error(`the facts have an unknown type: ${name}`)
  }
}
