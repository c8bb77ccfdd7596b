import type { ResponseHead } from '../exchange.ts'
import { type HeadKind, type RawHead, invalidHttp } from './head-reader.ts'
import { HeaderList } from './header-list.ts'
import { type HttpVersion, type MessageFacts, readMessageFacts, withLength } from './message-facts.ts'
import { Remembered } from './remembered.ts'
import { SentHeads } from './sent-heads.ts'

export interface ParsedResponse {
  readonly head: ResponseHead
  readonly facts: MessageFacts
  readonly sentHeads: SentHeads
  /** How long the upstream keeps the connection, if it says so. */
  readonly keptForMs: number
}

export const responseHeads: HeadKind<ParsedResponse> = {
  begins: () => {},
  parse: parseResponse,
  withLength: ({ head, facts, sentHeads, keptForMs }, digits) => ({
    head: { status: head.status, headers: head.headers.withLength(digits) },
    facts: withLength(facts, Number(digits)),
    sentHeads,
    keptForMs,
  }),
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/

function parseResponse(raw: RawHead): ParsedResponse {
  const { version, status } = statusLines.of(raw.startLine)
  const facts = readMessageFacts(raw.fields, version)
  return {
    head: { status, headers: new HeaderList(raw.fields) },
    facts,
    sentHeads: new SentHeads(),
    keptForMs: readKeepAlive(facts.keepAlive),
  }
}

/** One second less, for requests that are on their way when it closes. */
function readKeepAlive(keepAlive: string | undefined): number {
  const seconds = keepAlive === undefined ? undefined : /(?:^|[,;\s])timeout=(\d{1,6})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
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

export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200
}
