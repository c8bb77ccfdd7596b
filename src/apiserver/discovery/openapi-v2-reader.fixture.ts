import { parse } from 'yaml'
import { type MessageField, type MessageName, messages } from './openapi-v2-messages.ts'
import { type WireValue, bytesOf, doubleOf, fieldsOf, numberOf, textOf } from '../protobuf/protobuf-wire.ts'

type Fields = Record<string, unknown>

/** Decodes the protobuf encoding of an OpenAPI v2 document into JSON. Unknown field numbers are an error. */
export function readOpenApiV2(bytes: Buffer): unknown {
  return readMessage('Document', bytes)
}

function readMessage(name: MessageName, bytes: Buffer): unknown {
  const { fields = {}, entries, extensions, choose } = messages[name]
  const result: Fields = {}
  if (choose) return readChoice(name, choose, bytes)
  for (const { number, value } of fieldsOf(bytes)) {
    const known = Object.entries(fields).find(([, field]) => field.number === number)
    if (known) {
      const [key, field] = known
      const read = readValue(field, value)
      const before: unknown = result[key]
      result[key] = field.repeated ? [...(Array.isArray(before) ? (before as unknown[]) : []), read] : read
    } else if (number === extensions || number === entries?.number) {
      const shape = number === extensions ? 'any' : (entries?.shape ?? 'any')
      const [key, read] = readEntry(shape, bytesOf(value))
      result[key] = read
    } else throw new Error(`${name} has no field ${number}`)
  }
  return result
}

/** One sample value for each choice: which one was made cannot be asked of a value that is still being read. */
const choices: Readonly<Record<string, readonly unknown[]>> = {
  ParameterItem: [{ $ref: '' }, {}],
  Parameter: [{ in: 'body' }, {}],
  OtherParameter: [{ in: 'path' }, {}],
  FurtherProperties: [true, {}],
}

function readChoice(name: MessageName, choose: (value: unknown) => MessageField, bytes: Buffer): unknown {
  const fields = (choices[name] ?? [{}]).map((example) => choose(example))
  const read = [...fieldsOf(bytes)].map(({ number, value }) => {
    const field = fields.find((known) => known.number === number)
    if (!field) throw new Error(`${name} has no field ${number}`)
    return readValue(field, value)
  })
  return fields[0]?.repeated ? read : read[0]
}

function readEntry(shape: MessageField['shape'], bytes: Buffer): [string, unknown] {
  let key = ''
  let read: unknown
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) key = textOf(value)
    else read = readValue({ number, shape }, value)
  }
  return [key, read]
}

function readValue({ shape }: MessageField, value: WireValue): unknown {
  switch (shape) {
    case 'string':
      return textOf(value)
    case 'boolean':
      return numberOf(value) !== 0
    case 'integer':
      return numberOf(value)
    case 'number':
      return doubleOf(value)
    case 'any': {
      const [yaml] = fieldsOf(bytesOf(value))
      if (yaml?.number !== 2) throw new Error('a value without its text')
      return parse(textOf(yaml.value))
    }
    default:
      return readMessage(shape, bytesOf(value))
  }
}
