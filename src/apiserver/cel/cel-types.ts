import { Environment } from '@marcbachmann/cel-js'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { isJsonObject } from '../../resources/json-value.ts'
import { equalValues } from './cel-equality.ts'

/** A type of the Common Expression Language, and how a JSON value becomes a value of it. */
export interface CelType {
  readonly name: string
  convert(value: unknown): unknown
}

type Fields = Record<string, unknown>

const reservedWords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/

const text: CelType = { name: 'string', convert: (value) => value }
const anything: CelType = { name: 'dyn', convert: freeValue }
const namedMetadata: StructuralSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
}
/** Fields that rules may use in every object, beyond its schema. */
const resourceProperties: Readonly<Record<string, StructuralSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: namedMetadata,
}

/** How a field is written in a rule when its name is not an identifier; undefined when it cannot be written at all. */
export function escapedName(field: string): string | undefined {
  if (reservedWords.has(field)) return `__${field}__`
  const escaped = field
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__')
  return identifier.test(escaped) ? escaped : undefined
}

/**
 * The types of one environment. The fields of an object form a type of their own, so that rules are checked against
 * them.
 */
export class TypeDeclarations {
  readonly #environment: Environment
  #count = 0

  constructor(environment: Environment) {
    this.#environment = environment
  }

  of(schema: StructuralSchema, isResource = false): CelType {
    const type = this.#plain(schema, isResource)
    // Nullable values have no type of their own in the language.
    return schema.nullable ? { name: 'dyn', convert: (value) => (value === null ? null : type.convert(value)) } : type
  }

  #plain(schema: StructuralSchema, isResource: boolean): CelType {
    if (schema['x-kubernetes-int-or-string']) return anything
    switch (schema.type) {
      case 'string':
        return textType(schema.format)
      case 'integer':
        return { name: 'int', convert: (value) => BigInt(Math.trunc(Number(value))) }
      case 'number':
        return { name: 'double', convert: Number }
      case 'boolean':
        return { name: 'bool', convert: (value) => value }
      case 'array':
        return this.#list(schema)
      case 'object':
        return this.#object(schema, isResource || schema['x-kubernetes-embedded-resource'] === true)
      default:
        return anything
    }
  }

  #list({ items }: StructuralSchema): CelType {
    const item = items ? this.of(items) : anything
    const convert = (value: unknown) => (Array.isArray(value) ? value.map((one) => item.convert(one)) : [])
    return { name: `list<${item.name}>`, convert }
  }

  #object(schema: StructuralSchema, isResource: boolean): CelType {
    if (typeof schema.additionalProperties === 'object') return this.#map(schema.additionalProperties)
    const { metadata: _any, ...own } = schema.properties ?? {}
    const properties = isResource ? { ...own, ...resourceProperties } : (schema.properties ?? {})
    const fields: Record<string, string> = {}
    const converters: Array<readonly [field: string, escaped: string, type: CelType]> = []
    for (const [field, inner] of Object.entries(properties)) {
      const escaped = escapedName(field)
      if (escaped === undefined) continue
      const type = this.of(inner)
      fields[escaped] = type.name
      converters.push([field, escaped, type])
    }
    return this.#message(fields, converters)
  }

  #map(values: StructuralSchema): CelType {
    const type = this.of(values)
    const convert = (value: unknown) => {
      const result = new Map<string, unknown>()
      if (isJsonObject(value)) for (const [key, inner] of Object.entries(value)) result.set(key, type.convert(inner))
      return result
    }
    return { name: `map<string, ${type.name}>`, convert }
  }

  #message(
    fields: Record<string, string>,
    converters: ReadonlyArray<readonly [field: string, escaped: string, type: CelType]>,
  ): CelType {
    const name = `object${this.#count++}`
    const ctor = newFieldsType()
    this.#environment.registerType(name, { ctor, fields })
    this.#environment.registerOperator(`${name} == ${name}`, equalValues)
    const convert = (value: unknown) => {
      const values: Fields = {}
      if (!isJsonObject(value)) return Object.assign(new ctor(), values)
      for (const [field, escaped, type] of converters) {
        if (Object.hasOwn(value, field) && value[field] !== undefined) values[escaped] = type.convert(value[field])
      }
      return Object.assign(new ctor(), values)
    }
    return { name, convert }
  }
}

/** The library tells types apart by their constructors. */
function newFieldsType(): new () => object {
  return class extends FieldsType {}
}

class FieldsType {
  [field: string]: unknown
}

function textType(format: string | undefined): CelType {
  switch (format) {
    case 'date':
    case 'date-time':
      return { name: 'google.protobuf.Timestamp', convert: (value) => new Date(String(value)) }
    case 'duration':
      return { name: 'google.protobuf.Duration', convert: (value) => durationOf(String(value)) }
    case 'byte':
      return { name: 'bytes', convert: (value) => Uint8Array.from(Buffer.from(String(value), 'base64')) }
    default:
      return text
  }
}

let toDuration: ReturnType<Environment['parse']> | undefined

/** The library creates durations only inside the language. */
function durationOf(value: string): unknown {
  toDuration ??= new Environment().registerVariable('text', 'string').parse('duration(text)')
  return toDuration({ text: value })
}

/** A value without a declared type: whole numbers are integers. */
export function freeValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map((item) => freeValue(item))
  if (!isJsonObject(value)) return value
  return new Map(Object.entries(value).map(([key, inner]) => [key, freeValue(inner)]))
}
