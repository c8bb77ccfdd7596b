import type { TypeWords, Words } from '../src/resources/facts/core-words.ts'
import type { Facts, FieldFacts, LongFieldFacts, TypeFacts } from '../src/resources/facts/facts-format.ts'

type Json = Readonly<Record<string, unknown>>

const refPrefix = '#/components/schemas/'
const scalars: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'int-or-string',
}

/** The types that can be reached from `roots` (such as `v1/Pod`), in the short form of the facts. */
export function condense(documents: readonly unknown[], roots: readonly string[]): Facts {
  const schemas = schemasIn(documents)
  const kinds: Record<string, string> = {}
  const types: Record<string, TypeFacts> = {}
  const waiting: string[] = []
  for (const root of roots) {
    const name = typeNamed(schemas, root)
    kinds[root] = name
    waiting.push(name)
  }
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (types[name]) continue
    const schema = schemas.get(name)
    if (!schema) throw new Error(`no schema for ${name}`)
    types[name] = typeFacts(name, schema, (reached) => waiting.push(reached))
  }
  return { kinds: sorted(kinds), types: sorted(types) }
}

/** What the documents say about the types of the facts and their fields. */
export function condenseWords(documents: readonly unknown[], { types }: Facts): Words {
  const schemas = schemasIn(documents)
  const words = Object.keys(types).map((name) => [name, typeWords(schemas.get(name) ?? {})] as const)
  return Object.fromEntries(words.filter(([, said]) => Object.keys(said).length > 0))
}

function typeWords(schema: Json): TypeWords {
  const fields = Object.entries(asObject(schema['properties'])).sort(byName)
  const said = [['', schema] as const, ...fields].map(([name, part]) => [name, asObject(part)['description']] as const)
  return Object.fromEntries(said.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function schemasIn(documents: readonly unknown[]): Map<string, Json> {
  const schemas = new Map<string, Json>()
  for (const document of documents) {
    const components = asObject(asObject(document)['components'])
    for (const [name, schema] of Object.entries(asObject(components['schemas']))) schemas.set(name, asObject(schema))
  }
  return schemas
}

/** The facts as text with one type per line, so that the changes of a newer Kubernetes are readable. */
export function factsText({ kinds, types }: Facts): string {
  return `{"kinds":{\n${lines(kinds)}},\n"types":{\n${lines(types)}}}\n`
}

export function wordsText(words: Words): string {
  return `{\n${lines(words)}}\n`
}

function lines(table: Readonly<Record<string, unknown>>): string {
  return Object.entries(table)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join(',\n')
}

function typeNamed(schemas: ReadonlyMap<string, Json>, root: string): string {
  const parts = root.split('/')
  const [kind, version, group = ''] = parts.toReversed()
  for (const [name, schema] of schemas) {
    const marks = schema['x-kubernetes-group-version-kind']
    const isIt = (mark: Json) => mark['group'] === group && mark['version'] === version && mark['kind'] === kind
    if (Array.isArray(marks) && marks.map(asObject).some(isIt)) return name
  }
  throw new Error(`no type for ${root}`)
}

function typeFacts(name: string, schema: Json, reach: (type: string) => void): TypeFacts {
  const scalar = scalars[name] ?? (schema['properties'] === undefined ? scalarName(schema) : undefined)
  if (scalar !== undefined && scalar !== 'object') return { is: scalar }
  const { properties, required } = schema
  const fields: Record<string, FieldFacts> = {}
  const present: string[] = []
  for (const [field, value] of Object.entries(asObject(properties)).sort(byName)) {
    fields[field] = fieldFacts(asObject(value), reach)
    if (JSON.stringify(asObject(value)['default']) === '{}') present.push(field)
  }
  return {
    ...(scalar === 'object' && { is: 'object' }),
    ...(Array.isArray(required) && { required: required.map(String).sort() }),
    ...(present.length > 0 && { present }),
    ...(properties !== undefined && { fields }),
    ...markers(schema),
  }
}

function fieldFacts(schema: Json, reach: (type: string) => void): FieldFacts {
  const { items, additionalProperties } = schema
  const type = namedType(schema)
  if (type !== undefined) reach(type)
  const is = type === undefined ? scalarName(schema) : `#${type}`
  const facts: LongFieldFacts = {
    ...(items === undefined && additionalProperties === undefined && is !== undefined && { is }),
    ...(items !== undefined && { items: fieldFacts(asObject(items), reach) }),
    ...(additionalProperties !== undefined && { values: fieldFacts(asObject(additionalProperties), reach) }),
    ...markers(schema),
  }
  return Object.keys(facts).length === 1 && facts.is !== undefined ? facts.is : facts
}

function markers(schema: Json): LongFieldFacts {
  const result: Record<string, unknown> = {}
  const take = (from: string, to: string) => {
    if (schema[from] !== undefined) result[to] = schema[from]
  }
  take('x-kubernetes-list-type', 'listType')
  take('x-kubernetes-list-map-keys', 'listKeys')
  take('x-kubernetes-map-type', 'mapType')
  take('x-kubernetes-patch-strategy', 'patch')
  take('x-kubernetes-patch-merge-key', 'mergeKey')
  take('enum', 'enum')
  // The documents list Go's zero values as defaults, but a server does not fill these in.
  const { default: given } = schema
  if (given !== undefined && given !== '' && given !== 0 && given !== false && JSON.stringify(given) !== '{}') {
    result['default'] = given
  }
  return result
}

function namedType(schema: Json): string | undefined {
  const { $ref: ref, allOf } = schema
  if (typeof ref === 'string') return ref.slice(refPrefix.length)
  return Array.isArray(allOf) ? namedType(asObject(allOf[0])) : undefined
}

function scalarName({ type, format }: Json): string | undefined {
  if (typeof type !== 'string') return undefined
  return typeof format === 'string' ? `${type}/${format}` : type
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function byName([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1
}

function sorted<T>(table: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(table).sort(byName))
}
