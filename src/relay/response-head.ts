import type { ResponseHead } from './exchange.ts'
import { type RawHead, invalidHttp } from './head-reader.ts'
import { HeaderList } from './header-list.ts'
import { type HttpVersion, type MessageFacts, readMessageFacts } from './message-facts.ts'
import { Remembered } from './remembered.ts'

export interface ParsedResponse {
  readonly head: ResponseHead
  readonly facts: MessageFacts
  readonly body: ResponseBody
}

export type ResponseBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' }

const noBody: ResponseBody = { kind: 'none' }
const chunkedBody: ResponseBody = { kind: 'chunked' }
const bodyUntilClose: ResponseBody = { kind: 'until-close' }

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/

export function parseResponse(raw: RawHead, requestMethod: string): ParsedResponse {
  const { version, status } = statusLines.of(raw.startLine)
  const facts = readMessageFacts(raw.fields, version)
  return { head: { status, headers: new HeaderList(raw.fields) }, facts, body: bodyOf(status, facts, requestMethod) }
}

interface StatusLine {
  readonly version: HttpVersion
  readonly status: number
}

const statusLines = new Remembered(readStatusLine)

function readStatusLine(line: string): StatusLine {
  const match = statusLine.exec(line)
  if (!match) throw invalidHttp('the status line is not "HTTP/1.1 200 reason"')
  const version: HttpVersion = match[1] === '1' ? '1.1' : '1.0'
  const status = Number(match[2])
  if (status > 599) throw invalidHttp(`the status ${status} does not exist`)
  return { version, status }
}

/** RFC 9112 6.3: how long the body of a response is. */
function bodyOf(status: number, facts: MessageFacts, requestMethod: string): ResponseBody {
  if (requestMethod === 'HEAD' || isBodiless(status)) return noBody
  if (facts.chunked) return chunkedBody
  if (facts.contentLength !== undefined) return { kind: 'length', length: facts.contentLength }
  return bodyUntilClose
}

export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200
}
