import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { type MessageField, type MessageName, messages } from './openapi-v2-messages.ts'
import { yamlText } from './openapi-v2-yaml.ts'
import type { Phases } from '../writing/write-phases.ts'
import { ProtobufWriter } from '../protobuf/protobuf-writer.ts'

/** An OpenAPI v2 document in the protobuf encoding that Go clients ask for. */
export function encodeOpenApiV2(document: JsonObject): Phases<Buffer> {
  const encoder = new DocumentEncoder()
  return encoder.encode(document)
}

interface FieldThere {
  readonly of: MessageField
  readonly inner: unknown
}

/**
 * The fields that the value has, ordered by number. A schema has one or two of forty possible fields, and there are
 * very many schemas.
 */
function fieldsThere(fields: Readonly<Record<string, MessageField>>, value: JsonObject): FieldThere[] {
  const there: FieldThere[] = []
  for (const name of Object.keys(value)) {
    const of = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (of) there.push({ of, inner: value[name] })
  }
  return there.length > 1 ? there.sort((one, other) => one.of.number - other.of.number) : there
}

class DocumentEncoder {
  readonly #writer = new ProtobufWriter()
  /** Cached, because the same few texts occur thousands of times. */
  readonly #texts = new Map<string, string>();

  *encode(document: JsonObject): Phases<Buffer> {
    for (const { of, inner } of fieldsThere(messages.Document.fields ?? {}, document)) {
      const { number, shape } = of
      if ((shape === 'Paths' || shape === 'Schemas') && isJsonObject(inner)) yield* this.#members(number, shape, inner)
      else this.#field(of, inner, false)
    }
    return this.#writer.finish()
  }

  /** A message of very many members, each of which may be large. */
  *#members(number: number, name: 'Paths' | 'Schemas', value: JsonObject): Phases<void> {
    const begin = this.#writer.begin(number)
    for (const [key, inner] of Object.entries(value)) {
      this.#member(name, key, inner)
      yield
    }
    this.#writer.end(begin)
  }

  #message(name: MessageName, value: unknown): void {
    const { fields, choose } = messages[name]
    if (choose) {
      this.#field(choose(value), value, true)
      return
    }
    if (!isJsonObject(value)) return
    if (fields) for (const { of, inner } of fieldsThere(fields, value)) this.#field(of, inner, false)
    const { entries, extensions } = messages[name]
    if (extensions === undefined && !entries) return
    for (const [key, inner] of Object.entries(value)) this.#member(name, key, inner)
  }

  #member(name: MessageName, key: string, inner: unknown): void {
    const { entries, extensions } = messages[name]
    if (inner === undefined) return
    if (extensions !== undefined && key.startsWith('x-')) this.#entry({ number: extensions, shape: 'any' }, key, inner)
    else if (entries) this.#entry(entries, key, inner)
  }

  /** A name with its value, as two fields of a small message. */
  #entry({ number, shape }: MessageField, key: string, value: unknown): void {
    this.#writer.message(number, () => {
      this.#writer.text(1, key)
      this.#field({ number: 2, shape }, value, false)
    })
  }

  #field({ number, shape, repeated }: MessageField, value: unknown, chosen: boolean): void {
    if (value === undefined || value === null) return
    if (repeated) {
      const items: readonly unknown[] = Array.isArray(value) ? value : []
      for (const item of items) this.#field({ number, shape }, item, true)
      return
    }
    switch (shape) {
      case 'string':
        if (typeof value === 'string') this.#writer.text(number, value)
        return
      case 'boolean':
        if (typeof value === 'boolean') this.#writer.boolean(number, value, chosen)
        return
      case 'integer':
        if (typeof value === 'number') this.#writer.integer(number, value)
        return
      case 'number':
        if (typeof value === 'number') this.#writer.double(number, value)
        return
      case 'any':
        this.#writer.message(number, () => this.#writer.text(2, this.#yaml(value)))
        return
      default:
        this.#writer.message(number, () => this.#message(shape, value))
    }
  }

  #yaml(value: unknown): string {
    if (typeof value !== 'string') return yamlText(value)
    const known = this.#texts.get(value)
    if (known !== undefined) return known
    const text = yamlText(value)
    this.#texts.set(value, text)
    return text
  }
}
