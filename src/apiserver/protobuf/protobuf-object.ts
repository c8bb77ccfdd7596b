import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { tooManyValues } from '../bodies/body-values.ts'
import { isDeeperThan } from '../../resources/json-value.ts'
import { type MessageFields, messageOfType } from './protobuf-facts.ts'
import {
  ProtobufError,
  type WireField,
  type WireValue,
  bytesOf,
  doubleOf,
  fieldsOf,
  numberOf,
  textOf,
} from './protobuf-wire.ts'

const deepest = 32
/** The deepest JSON inside a message, which is about managed fields. */
const deepestJson = 64
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.'

/** Decodes a message of one of Kubernetes' own types into JSON; `undefined` when nothing is known about the type. */
export function readProtobufObject(
  schema: StructuralSchema,
  bytes: Buffer,
  most: number,
): Record<string, unknown> | undefined {
  const message = messageOfType(schema['x-sluice-type-name'] ?? '')
  return message && readFields(schema, message, bytes, { depth: 0, budget: { most, left: most * fieldsPerValue } })
}

/** Go also writes fields that are not set, and some single values are messages of several fields. */
const fieldsPerValue = 3

/** How deep a message is nested, and how many fields all messages together may still have. */
interface Place {
  readonly depth: number
  readonly budget: { readonly most: number; left: number }
}

function* countedFields(bytes: Buffer, { budget }: Place): Generator<WireField> {
  for (const field of fieldsOf(bytes)) {
    budget.left -= 1
    if (budget.left < 0) throw tooManyValues(budget.most)
    yield field
  }
}

function readFields(
  schema: StructuralSchema,
  message: MessageFields,
  bytes: Buffer,
  at: Place,
): Record<string, unknown> {
  if (at.depth > deepest) throw new ProtobufError('nested too deeply')
  const result: Record<string, unknown> = {}
  for (const { number, value } of countedFields(bytes, at)) {
    const inner = message.inline.get(number)
    if (inner) Object.assign(result, readFields(schema, inner, bytesOf(value), { ...at, depth: at.depth + 1 }))
    const field = message.fields.get(number)
    const of = field && schema.properties?.[field.name]
    if (!field || !of) continue
    const { name, isGiven } = field
    if (of.type === 'array') listAt(result, name).push(readValue(of.items ?? {}, value, at))
    else if (typeof of.additionalProperties === 'object') {
      result[name] = withEntry(result[name], of.additionalProperties, bytesOf(value), at)
    } else {
      const read = readValue(of, value, at)
      // Go writes values that are not set; only pointers can be zero on purpose.
      if (read !== undefined && (isGiven || !isZero(read))) result[name] = read
    }
  }
  return result
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false
}

function readValue(schema: StructuralSchema, value: WireValue, at: Place): unknown {
  const type = schema['x-sluice-type-name']
  if (schema.format === 'quantity') return textOf(fieldNumbered(bytesOf(value), 1) ?? Buffer.alloc(0))
  if (schema['x-kubernetes-int-or-string']) return readIntOrString(bytesOf(value))
  if (type === `${metaTypes}Time`) return readTime(bytesOf(value), 0)
  if (type === `${metaTypes}MicroTime`) return readTime(bytesOf(value), 6)
  if (type === `${metaTypes}FieldsV1`) return readJson(fieldNumbered(bytesOf(value), 1))
  switch (schema.type) {
    case 'string':
      return schema.format === 'byte' ? bytesOf(value).toString('base64') : textOf(value)
    case 'integer':
      return numberOf(value)
    case 'number':
      return doubleOf(value)
    case 'boolean':
      return numberOf(value) !== 0
    default: {
      const message = type === undefined ? undefined : messageOfType(type)
      return message && readFields(schema, message, bytesOf(value), { ...at, depth: at.depth + 1 })
    }
  }
}

function withEntry(map: unknown, schema: StructuralSchema, bytes: Buffer, at: Place): Record<string, unknown> {
  // Without a prototype, so that no key is special.
  const target: Record<string, unknown> = isRecord(map) ? map : Object.create(null)
  let key = ''
  let value: unknown = schema.type === 'string' ? '' : undefined
  for (const field of countedFields(bytes, at)) {
    if (field.number === 1) key = textOf(field.value)
    else if (field.number === 2) value = readItemOfMap(schema, field.value, at)
  }
  target[key] = value
  return target
}

/** Lists occur in maps only as messages of their own (`extra` of a user). */
function readItemOfMap(schema: StructuralSchema, value: WireValue, at: Place): unknown {
  if (schema.type !== 'array') return readValue(schema, value, at)
  return [...countedFields(bytesOf(value), at)].map((item) => readValue(schema.items ?? {}, item.value, at))
}

function readTime(bytes: Buffer, digits: number): string | undefined {
  let seconds: number | undefined
  let nanos = 0
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) seconds = numberOf(value)
    else if (number === 2) nanos = numberOf(value)
  }
  if (seconds === undefined) return undefined
  const at = new Date(seconds * 1000)
  if (Number.isNaN(at.getTime())) throw new ProtobufError('a time that is none')
  const fraction = digits === 0 ? '' : `.${String(nanos).padStart(9, '0').slice(0, digits)}`
  return at.toISOString().replace(/\.\d{3}Z$/, `${fraction}Z`)
}

function readIntOrString(bytes: Buffer): string | number {
  let isText = false
  let whole = 0
  let text = ''
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) isText = numberOf(value) === 1
    else if (number === 2) whole = numberOf(value)
    else if (number === 3) text = textOf(value)
  }
  return isText ? text : whole
}

function readJson(bytes: WireValue | undefined): unknown {
  if (bytes === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(textOf(bytes))
  } catch (error) {
    throw new ProtobufError('JSON that is none', { cause: error })
  }
  if (isDeeperThan(value, deepestJson)) throw new ProtobufError('JSON that is nested too deeply')
  return value
}

function fieldNumbered(bytes: Buffer, wanted: number): WireValue | undefined {
  for (const { number, value } of fieldsOf(bytes)) if (number === wanted) return value
  return undefined
}

/** The list of a field, created with its first item. */
function listAt(holder: Record<string, unknown>, name: string): unknown[] {
  const known = holder[name]
  if (Array.isArray(known)) return known
  const made: unknown[] = []
  holder[name] = made
  return made
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
