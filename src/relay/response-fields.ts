import type { HeaderPairs } from './exchange.ts'
import { fieldName, isFieldValue } from './header-field.ts'
import type { ParsedResponse } from './response-head.ts'

/** The fields of a response as they go to the client, and what they say to whoever writes its head. */
export interface ResponseFields {
  readonly text: string
  readonly dated: boolean
  readonly wantsClose: boolean
  readonly contentLength: number | undefined
}

/** Fields that a handler sets. The relay's own are left out and made anew. */
export function answerFields(pairs: HeaderPairs): ResponseFields {
  let text = ''
  let dated = false
  let wantsClose = false
  let contentLength: number | undefined
  for (const [name, value] of pairs) {
    const known = checked(name, value)
    if (known.role === 'connection' && value.toLowerCase() === 'close') wantsClose = true
    if (known.role === 'content-length') contentLength = Number(value)
    else if (!known.isHop) text += `${name}: ${value}\r\n`
    dated ||= known.role === 'date'
  }
  return { text, dated, wantsClose, contentLength }
}

/** The fields of an upstream's response that go on to the client, with those that the handler sets instead of them. */
export function forwardedFields({ head, facts }: ParsedResponse, changes: HeaderPairs | undefined): ResponseFields {
  let text = ''
  let dated = false
  for (const { name, value, known } of head.headers.fields) {
    if (known.isHop || known.role === 'content-length') continue
    if (facts.connectionNames.length > 0 && facts.connectionNames.includes(known.key)) continue
    if (changes && isChanged(known.key, changes)) continue
    text += `${name}: ${value}\r\n`
    dated ||= known.role === 'date'
  }
  if (changes) {
    for (const [name, value] of changes) {
      const known = checked(name, value)
      if (known.isHop || known.role === 'content-length') continue
      text += `${name}: ${value}\r\n`
      dated ||= known.role === 'date'
    }
  }
  return { text, dated, wantsClose: false, contentLength: facts.contentLength }
}

function isChanged(key: string, changes: HeaderPairs): boolean {
  for (const [name] of changes) if (name === key) return true
  return false
}

function checked(name: string, value: string) {
  const known = fieldName(name)
  if (!known || !isFieldValue(value)) throw new TypeError(`the header ${JSON.stringify(name)} is malformed`)
  return known
}
