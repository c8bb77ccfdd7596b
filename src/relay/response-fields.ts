import type { HeaderPairs } from './exchange.ts'
import { isSet, setFields } from './forward-headers.ts'
import type { HeaderField } from './header-field.ts'
import { headerField } from './header-list.ts'
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
    const { known, line } = headerField(name, value)
    if (known.role === 'connection' && value.toLowerCase() === 'close') wantsClose = true
    if (known.role === 'content-length') contentLength = Number(value)
    else if (!known.isHop) text += line
    dated ||= known.role === 'date'
  }
  return { text, dated, wantsClose, contentLength }
}

/** The fields of an upstream's response that go on to the client, with those that the handler sets instead of them. */
export function forwardedFields({ head, facts }: ParsedResponse, set: readonly HeaderField[] = []): ResponseFields {
  let text = ''
  let dated = isSet('date', set)
  for (const { line, known } of head.headers.fields) {
    if (known.isHop || known.role === 'content-length' || isSet(known.key, set)) continue
    if (facts.connectionNames.length > 0 && facts.connectionNames.includes(known.key)) continue
    text += line
    dated ||= known.role === 'date'
  }
  return { text: text + setFields(set), dated, wantsClose: false, contentLength: facts.contentLength }
}
