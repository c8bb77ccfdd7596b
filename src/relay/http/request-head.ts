import { METHODS } from 'node:http'
import { SluiceError } from '../../foundation/errors.ts'
import type { RequestHead } from '../exchange.ts'
import { type HeadKind, type RawHead, invalidHttp } from './head-reader.ts'
import { type HeaderField, isToken } from './header-field.ts'
import { headerField, HeaderList } from './header-list.ts'
import { type HttpVersion, type MessageFacts, readMessageFacts, withLength } from './message-facts.ts'
import { ownText, Remembered } from './remembered.ts'
import { SentHeads } from './sent-heads.ts'

export interface ParsedRequest {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly expectsContinue: boolean
  readonly sentHeads: SentHeads
}

export const requestHeads: HeadKind<ParsedRequest> = {
  begins: parseRequestLine,
  parse: parseRequest,
  withLength({ head, facts, expectsContinue, sentHeads }, digits) {
    const { method, target, path, query, version, headers } = head
    return {
      head: { method, target, path, query, version, headers: headers.withLength(digits) },
      facts: withLength(facts, Number(digits)),
      expectsContinue,
      sentHeads,
    }
  },
}

const requestLine = /^([^ ]+) ([^ ]+) HTTP\/(\d)\.(\d)$/
const knownMethods = new Set(METHODS)

// Wider than RFC 3986 by what browsers leave unencoded in a query ({ } | ^ `), and no wider.
const targetCharacters = /^[!$-;=?-[\]^-~]+$/
const brokenEscape = /%(?![0-9A-Fa-f]{2})/
const absoluteForm = /^https?:\/\/([^/?]*)(.*)$/i
const hostForm = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=%]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

function parseRequest(raw: RawHead): ParsedRequest {
  const { method, version, target, path, query, authority } = parseRequestLine(raw.startLine)
  const facts = readMessageFacts(raw.fields, version)
  const host = readHost(facts.host, authority, version)
  const fields = authority === undefined ? raw.fields : withHost(raw.fields, host)
  return {
    head: { method, target, path, query, version, headers: new HeaderList(fields) },
    facts: authority === undefined ? facts : { ...facts, host },
    expectsContinue: readExpect(facts.expect, version),
    sentHeads: new SentHeads(),
  }
}

interface RequestLine {
  readonly method: string
  readonly version: HttpVersion
  readonly target: string
  readonly path: string
  readonly query: string
  readonly authority: string | undefined
}

const requestLines = new Remembered(readRequestLine)

function parseRequestLine(line: string): RequestLine {
  return requestLines.of(line)
}

function readRequestLine(line: string): RequestLine {
  const match = requestLine.exec(line)
  if (!match) throw invalidHttp('the request line is not "METHOD target HTTP/1.1"')
  const [, method = '', rawTarget = '', major, minor] = match
  if (!isToken(method)) throw invalidHttp('the method has a forbidden character')
  const version = readVersion(major, minor)
  // CONNECT asks for a tunnel to anywhere, which a gateway does not give.
  if (!knownMethods.has(method) || method === 'CONNECT') throw new SluiceError('method_not_implemented', { method })
  const { target, authority } = readTarget(method, rawTarget)
  const question = target.indexOf('?')
  const path = ownText(question < 0 ? target : target.slice(0, question))
  return { method, version, target, path, query: question < 0 ? '' : target.slice(question + 1), authority }
}

function readVersion(major: string | undefined, minor: string | undefined): HttpVersion {
  if (major === '1' && minor === '1') return '1.1'
  if (major === '1' && minor === '0') return '1.0'
  throw new SluiceError('http_version_not_supported')
}

function readTarget(method: string, raw: string): Pick<RequestLine, 'target' | 'authority'> {
  if (raw === '*') {
    if (method !== 'OPTIONS') throw invalidHttp('the target * is for OPTIONS only')
    return { target: raw, authority: undefined }
  }
  if (!targetCharacters.test(raw)) throw invalidHttp('the target has a forbidden character')
  if (raw.startsWith('/')) return { target: checkEscapes(raw), authority: undefined }
  const absolute = absoluteForm.exec(raw)
  if (!absolute) throw invalidHttp('the target is neither a path nor an absolute URL')
  const [, authority = '', rest = ''] = absolute
  return { target: checkEscapes(rest.startsWith('/') ? rest : `/${rest}`), authority }
}

function checkEscapes(target: string): string {
  if (!target.includes('%')) return target
  const question = target.indexOf('?')
  if (brokenEscape.test(question < 0 ? target : target.slice(0, question))) {
    throw invalidHttp('the path has a broken percent escape')
  }
  return target
}

/** RFC 9112 3.2.2: an absolute target overrides the Host field, which is required all the same. */
function readHost(host: string | undefined, authority: string | undefined, version: HttpVersion): string | undefined {
  if (host === undefined && version === '1.1') throw invalidHttp('Host is missing')
  if (host !== undefined && !hostForm.test(host)) throw invalidHttp('Host is not a host')
  if (authority === undefined) return host
  if (!hostForm.test(authority)) throw invalidHttp('the target has no valid host')
  return authority
}

function withHost(fields: readonly HeaderField[], host: string | undefined): readonly HeaderField[] {
  const others = fields.filter(({ known }) => known.role !== 'host')
  return host === undefined ? others : [headerField('Host', host), ...others]
}

function readExpect(expect: string | undefined, version: HttpVersion): boolean {
  if (expect === undefined || version === '1.0') return false
  if (expect.toLowerCase() !== '100-continue') throw new SluiceError('expectation_failed')
  return true
}
