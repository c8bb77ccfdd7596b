import { Remembered } from './remembered.ts'

/** What a field controls in its message or connection. */
export type FieldRole =
  | 'content-length'
  | 'transfer-encoding'
  | 'host'
  | 'connection'
  | 'upgrade'
  | 'expect'
  | 'keep-alive'
  | 'date'
  | 'none'

/** What follows from a field's name alone. */
export interface FieldName {
  /** Lower case. */
  readonly key: string
  readonly role: FieldRole
  /** Hop-by-hop: never sent on. `trailer` and the framing fields are set anew if they still apply. */
  readonly isHop: boolean
  /**
   * Not passed to the upstream as the client wrote it: only the relay says where a request came from, and it answers
   * some fields itself.
   */
  readonly isRelays: boolean
  /** Usually has the same value each time, and is no secret. */
  readonly isSteady: boolean
}

/** One field of a head or of trailers, in the order and case it arrived. */
export interface HeaderField {
  readonly name: string
  readonly value: string
  /** The line as it is sent: name, colon, blank, value, CR and LF. */
  readonly line: string
  readonly known: FieldName
}

const roles = new Set<FieldRole>([
  'content-length',
  'transfer-encoding',
  'host',
  'connection',
  'upgrade',
  'expect',
  'keep-alive',
  'date',
])

const hopFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

const relaysFields = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'forwarded',
  'content-length',
  'expect',
])

/** Names of fields that are secret, or different each time, and so are not remembered. */
const unsteady = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|.*(?:key|token|secret|-id)|content-length|date)$/

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const value = /^[\t\x20-\x7e\x80-\xff]*$/

export function isToken(text: string): boolean {
  return token.test(text)
}

export function isFieldValue(text: string): boolean {
  return value.test(text)
}

const names = new Remembered(readName, (name) => name !== undefined)

/** Returns `undefined` if this cannot be a field's name. */
export function fieldName(name: string): FieldName | undefined {
  return names.of(name)
}

function readName(name: string): FieldName | undefined {
  if (!isToken(name)) return undefined
  const key = name.toLowerCase()
  const isHop = hopFields.has(key)
  return { key, role: roleOf(key), isHop, isRelays: relaysFields.has(key), isSteady: !unsteady.test(key) }
}

function roleOf(key: string): FieldRole {
  for (const role of roles) if (role === key) return role
  return 'none'
}

/** Searches linearly: there are only a few. */
export function isSet(key: string, fields: readonly HeaderField[]): boolean {
  for (const { known } of fields) if (known.key === key) return true
  return false
}
