import { STATUS_CODES } from 'node:http'
import type { HeaderPairs } from './exchange.ts'
import { isSet } from './forward-headers.ts'
import type { HeaderField } from './header-field.ts'
import { headerField } from './header-list.ts'
import { maySet, type OnwardHead, type OnwardText } from './onward-heads.ts'
import type { ParsedResponse } from './response-head.ts'

const none: readonly never[] = []

/** The fields of a response as they go to the client, and what they say to whoever writes its head. */
export interface ResponseFields {
  /** An upstream's, from the status line on. */
  readonly onward: OnwardHead | undefined
  /** Set by the handler, and among those of the upstream where they are the same each time. */
  readonly set: readonly HeaderField[]
  /** Of an answer of our own. */
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
  return { onward: undefined, set: none, text, dated, wantsClose, contentLength }
}

/** The fields of an upstream's response that go on to the client, with those that the handler sets instead of them. */
export function forwardedFields(response: ParsedResponse, set: readonly HeaderField[] = none): ResponseFields {
  const { onward, facts } = response
  const head = onward.like('', set, none) ?? onward.remember('', set, none, textDown(response, set))
  return { onward: head, set, text: '', dated: head.dated, wantsClose: false, contentLength: facts.contentLength }
}

/** The whole head of a response that is not the final one, but for its last line. */
export function interimHead(response: ParsedResponse, set: readonly HeaderField[] = none): string {
  let { text } = textDown(response, set)
  for (const field of set) if (maySet(field)) text += field.line
  return text
}

function textDown({ head, facts }: ParsedResponse, set: readonly HeaderField[]): OnwardText {
  let text = statusLine(head.status)
  let dated = isSet('date', set)
  for (const { line, known } of head.headers.fields) {
    if (known.isHop || known.role === 'content-length' || isSet(known.key, set)) continue
    if (facts.connectionNames.length > 0 && facts.connectionNames.includes(known.key)) continue
    text += line
    dated ||= known.role === 'date'
  }
  return { text, dated }
}

export function statusLine(status: number): string {
  return status === 200 ? 'HTTP/1.1 200 OK\r\n' : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
}
