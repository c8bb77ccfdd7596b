import { Remembered } from './remembered.ts'

/** What a field says about the message it stands in, or about the connection. */
export type FieldRole =
  'content-length' | 'transfer-encoding' | 'host' | 'connection' | 'upgrade' | 'expect' | 'keep-alive' | 'date' | 'none'

/** What is known of a field by its name alone. */
export interface FieldName {
  /** Lower case. */
  readonly key: string
  readonly role: FieldRole
  /** About one hop, never sent on. `trailer` and the framing fields are made anew where they still hold. */
  readonly isHop: boolean
  /**
   * Not sent up as the client wrote it: only the relay may say where a request came from, and some it answers itself.
   */
  readonly isRelays: boolean
  /** Comes again and again with the same value, and is no secret. */
  readonly isSteady: boolean
}

/** One field of a head or of trailers, in the order and case it arrived. */
export interface HeaderField {
  readonly name: string
  readonly value: string
  /** As it goes on: name, colon, blank, value, CR and LF. */
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

/** Secrets are not kept, nor what is different each time. */
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

/** `undefined`: no field can be called that. */
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

/** There are a few at most: looking through them is faster than any table. */
export function isSet(key: string, fields: readonly HeaderField[]): boolean {
  for (const { known } of fields) if (known.key === key) return true
  return false
}
