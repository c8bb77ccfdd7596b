import { readFileSync } from 'node:fs'

/** Which numbers the fields of a type have in Kubernetes' protobuf messages. */
export interface ProtobufFacts {
  readonly numbers: Readonly<Record<string, number>>
  /** Fields of which zero, empty or false is said on purpose; of all others it means that nothing was said. */
  readonly given?: readonly string[]
  /** Messages that stand in one of their own, but whose fields are the type's in JSON. */
  readonly inline?: Readonly<Record<string, ProtobufFacts>>
}

export interface MessageFields {
  /** By number. */
  readonly fields: ReadonlyMap<number, { readonly name: string; readonly isGiven: boolean }>
  readonly inline: ReadonlyMap<number, MessageFields>
}

let loaded: Readonly<Record<string, ProtobufFacts>> | undefined
const known = new Map<string, MessageFields>()

/** The message of a type, by the type's name in Kubernetes' documents. */
export function messageOfType(name: string): MessageFields | undefined {
  const found = known.get(name)
  if (found) return found
  // Read when it is first needed: most clients write JSON.
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
