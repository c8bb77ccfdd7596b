import { readFileSync } from 'node:fs'

/** The field numbers of a type in Kubernetes' protobuf messages. */
export interface ProtobufFacts {
  readonly numbers: Readonly<Record<string, number>>
  /** Fields for which zero, empty or false is a value; for all others it means "not set". */
  readonly given?: readonly string[]
  /** Messages that are nested in protobuf but whose fields are inline in JSON. */
  readonly inline?: Readonly<Record<string, ProtobufFacts>>
}

export interface MessageFields {
  readonly fields: ReadonlyMap<number, { readonly name: string; readonly isGiven: boolean }>
  readonly inline: ReadonlyMap<number, MessageFields>
}

let loaded: Readonly<Record<string, ProtobufFacts>> | undefined
const known = new Map<string, MessageFields>()

/** The message of a type, by the type's name in Kubernetes' documents. */
export function messageOfType(name: string): MessageFields | undefined {
  const found = known.get(name)
  if (found) return found
  // Read when first needed, because most clients send JSON.
  loaded ??= parseFacts(readFileSync(new URL('protobuf-facts.json', import.meta.url), 'utf8'))
  const facts = Object.hasOwn(loaded, name) ? loaded[name] : undefined
  if (!facts) return undefined
  const message = byNumber(facts)
  known.set(name, message)
  return message
}

function parseFacts(text: string): Record<string, ProtobufFacts> {
  return JSON.parse(text)
}

function byNumber({ numbers, given = [], inline = {} }: ProtobufFacts): MessageFields {
  return {
    fields: new Map(Object.entries(numbers).map(([name, number]) => [number, { name, isGiven: given.includes(name) }])),
    inline: new Map(Object.entries(inline).map(([number, facts]) => [Number(number), byNumber(facts)])),
  }
}
