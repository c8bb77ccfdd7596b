import { SluiceError } from '../../foundation/errors.ts'
import { invalidHttp } from './head-reader.ts'
import type { HeaderField } from './header-field.ts'

export type HttpVersion = '1.0' | '1.1'

/** What a head's fields say about its message and connection. Contradictory heads were refused before. */
export interface MessageFacts {
  readonly contentLength: number | undefined
  readonly chunked: boolean
  readonly host: string | undefined
  /** Whether the sender wants to keep the connection. */
  readonly persistent: boolean
  /** The fields that `Connection` names, in lower case: they are not sent on. */
  readonly connectionNames: readonly string[]
  /** The offered protocols, if `Connection` names `upgrade`. */
  readonly upgrade: string | undefined
  readonly expect: string | undefined
  readonly keepAlive: string | undefined
}

const digits = /^\d{1,15}$/
const noNames: readonly string[] = []

export function readMessageFacts(fields: readonly HeaderField[], version: HttpVersion): MessageFacts {
  let contentLength: number | undefined
  let transferEncoding: string | undefined
  let host: string | undefined
  let connection: string | undefined
  let upgrade: string | undefined
  let expect: string | undefined
  let keepAlive: string | undefined
  for (const { known, value } of fields) {
    switch (known.role) {
      case 'none':
      case 'date':
        break
      case 'content-length':
        // A repeated length is refused even when both agree: somebody else may have read only one of them.
        if (contentLength !== undefined) throw invalidHttp('Content-Length is given twice')
        if (!digits.test(value)) throw invalidHttp('Content-Length is not a number')
        contentLength = Number(value)
        break
      case 'transfer-encoding':
        transferEncoding = join(transferEncoding, value)
        break
      case 'host':
        if (host !== undefined) throw invalidHttp('Host is given twice')
        host = value
        break
      case 'connection':
        connection = join(connection, value)
        break
      case 'upgrade':
        upgrade = join(upgrade, value)
        break
      case 'expect':
        expect = join(expect, value)
        break
      case 'keep-alive':
        keepAlive = value
        break
      default:
        known.role satisfies never
    }
  }
  const names = connection === undefined ? noNames : splitList(connection)
  return {
    contentLength,
    chunked: isChunked(transferEncoding, contentLength, version),
    host,
    persistent: names.includes('close') ? false : version === '1.1' || names.includes('keep-alive'),
    connectionNames: names,
    upgrade: upgrade !== undefined && version === '1.1' && names.includes('upgrade') ? upgrade : undefined,
    expect,
    keepAlive,
  }
}

/** The same with another length. Copied member by member: a spread would cost most of what recognising a head saves. */
export function withLength(facts: MessageFacts, contentLength: number): MessageFacts {
  const { chunked, host, persistent, connectionNames, upgrade, expect, keepAlive } = facts
  return { contentLength, chunked, host, persistent, connectionNames, upgrade, expect, keepAlive }
}

function isChunked(transferEncoding: string | undefined, contentLength: number | undefined, version: HttpVersion) {
  if (transferEncoding === undefined) return false
  if (contentLength !== undefined) throw invalidHttp('both Content-Length and Transfer-Encoding are given')
  if (version === '1.0') throw invalidHttp('Transfer-Encoding is not part of HTTP/1.0')
  const coding = transferEncoding.toLowerCase()
  if (coding === 'chunked') return true
  const codings = splitList(coding)
  if (codings.at(-1) !== 'chunked' || codings.indexOf('chunked') !== codings.length - 1) {
    throw invalidHttp('the last transfer coding is not chunked, or not the only chunked one')
  }
  throw new SluiceError('transfer_coding_not_implemented')
}

function join(earlier: string | undefined, value: string): string {
  return earlier === undefined ? value : `${earlier}, ${value}`
}

/** Splits a comma-separated list, in lower case, without empty elements (RFC 9110 5.6.1). */
export function splitList(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '')
}
