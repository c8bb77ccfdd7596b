import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../../foundation/errors.ts'
import { defaultRelayLimits } from '../limits.ts'
import { HeadReader, parseFieldLine } from './head-reader.ts'
import { type ParsedRequest, requestHeads } from './request-head.ts'

const head =
  'POST /v1/chat?x=1 HTTP/1.1\r\nHost: a.example\r\nX-Empty:\r\nX-Padded: \t b \t\r\nContent-Length: 4\r\n\r\n'

function codeOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof SluiceError) return error.code
    throw error
  }
  return 'accepted'
}

function readWhole(text: string, limits = {}): ParsedRequest {
  const reader = new HeadReader({ ...defaultRelayLimits, ...limits }, requestHeads)
  const bytes = Buffer.from(text, 'latin1')
  const end = reader.push(bytes, 0)
  if (end < 0) throw new Error('incomplete')
  return reader.take()
}

describe('HeadReader', () => {
  it('reads the same head however its bytes are cut, and stops exactly behind it', () => {
    const bytes = Buffer.from(`${head}BODY`, 'latin1')
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 12 }), (cuts) => {
        const reader = new HeadReader(defaultRelayLimits, requestHeads)
        const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
        for (let index = 0; index + 1 < edges.length; index++) {
          const start = edges[index] ?? 0
          const end = reader.push(bytes.subarray(start, edges[index + 1]), 0)
          if (end < 0) continue
          expect(start + end).toBe(head.length)
          const { head: parsed } = reader.take()
          expect(parsed.headers.fields.map(({ name, value }) => [name, value])).toEqual([
            ['Host', 'a.example'],
            ['X-Empty', ''],
            ['X-Padded', 'b'],
            ['Content-Length', '4'],
          ])
          expect(parsed).toMatchObject({ method: 'POST', path: '/v1/chat', query: 'x=1', version: '1.1' })
          return
        }
        throw new Error('the head was never complete')
      }),
    )
  })

  it('keeps bytes above 0x7f and does not trim 0xa0 off a value', () => {
    expect(parseFieldLine('x: \u00e9\u00a0')).toMatchObject({ name: 'x', value: '\u00e9\u00a0' })
  })

  it.each([
    ['a line too long', `GET /${'a'.repeat(100)} HTTP/1.1\r\nHost: a\r\n\r\n`, { maxLineBytes: 50 }, 'target_too_long'],
    ['a line too long and unfinished', `GET /${'a'.repeat(100)}`, { maxLineBytes: 50 }, 'target_too_long'],
    ['a head too large', `GET / HTTP/1.1\r\nHost: ${'a'.repeat(300)}\r\n\r\n`, { maxHeadBytes: 200 }, 'head_too_large'],
    ['a field without end', `GET / HTTP/1.1\r\nHost: ${'a'.repeat(300)}`, { maxHeadBytes: 200 }, 'head_too_large'],
    ['too many fields', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(9)}\r\n`, { maxHeaderFields: 8 }, 'head_too_large'],
    ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000', {}, 'invalid_http'],
    ['a bad first line whose head never ends', 'HELLO\r\nHost: a\r\n', {}, 'invalid_http'],
    ['a bare LF before the head has ended', 'GET / HTTP/1.1\r\nHost: a\nX', {}, 'invalid_http'],
  ])('refuses %s at once', (_name, text, limits, code) => {
    expect(codeOf(() => readWhole(text, limits))).toBe(code)
  })

  it('takes a head of exactly the allowed size', () => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    expect(codeOf(() => readWhole(text, { maxHeadBytes: text.length }))).toBe('accepted')
    expect(codeOf(() => readWhole(text, { maxHeadBytes: text.length - 1 }))).toBe('head_too_large')
  })
})

describe('parseRequest', () => {
  const withField = (field: string) => `GET / HTTP/1.1\r\nHost: a\r\n${field}\r\n\r\n`

  it.each([
    ['an empty line before the request', '\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n', 'accepted'],
    ['two empty lines before it', '\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_implemented'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_implemented'],
    ['a lower-case method', 'get / HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_implemented'],
    ['a method with a bad character', 'G@T / HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['two spaces', 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a tab for a space', 'GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a trailing space', 'GET / HTTP/1.1 \r\nHost: a\r\n\r\n', 'invalid_http'],
    ['HTTP/0.9', 'GET /\r\n\r\n', 'invalid_http'],
    ['HTTP/2.0', 'PRI * HTTP/2.0\r\n\r\n', 'http_version_not_supported'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n', 'http_version_not_supported'],
    ['a lower-case version', 'GET / http/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a relative target', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['* for GET', 'GET * HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['* for OPTIONS', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 'accepted'],
    ['a fragment', 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a byte above 0x7f in the target', 'GET /\u00e9 HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a quote in the target', 'GET /" HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a backslash in the target', 'GET /\\ HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a CR in the target', 'GET /\ra HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['a broken escape in the path', 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['what browsers leave in a query', 'GET /?a={b}|^`%zz HTTP/1.1\r\nHost: a\r\n\r\n', 'accepted'],
    ['an absolute URL with credentials', 'GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['an absolute URL of another scheme', 'GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n', 'invalid_http'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 'invalid_http'],
    ['no Host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', 'accepted'],
    ['two Hosts', withField('Host: a'), 'invalid_http'],
    ['an empty Host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n', 'invalid_http'],
    ['a Host with a path', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 'invalid_http'],
    ['a Host with a blank', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 'invalid_http'],
    ['an IPv6 Host with a port', 'GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n', 'accepted'],
    ['a folded field', withField('A: b\r\n c'), 'invalid_http'],
    ['a fold right after the first line', 'GET / HTTP/1.1\r\n Host: a\r\n\r\n', 'invalid_http'],
    ['a space before the colon', withField('A : b'), 'invalid_http'],
    ['a field without a colon', withField('A'), 'invalid_http'],
    ['an empty field name', withField(': b'), 'invalid_http'],
    ['a NUL in a value', withField('A: \u0000'), 'invalid_http'],
    ['a bare CR in a value', withField('A: b\rc'), 'invalid_http'],
    ['DEL in a value', withField('A: \u007f'), 'invalid_http'],
    ['a bare LF between fields', 'GET / HTTP/1.1\r\nHost: a\nA: b\r\n\r\n', 'invalid_http'],
    ['both lengths', withField('Content-Length: 3\r\nTransfer-Encoding: chunked'), 'invalid_http'],
    ['two different lengths', withField('Content-Length: 3\r\nContent-Length: 4'), 'invalid_http'],
    ['the same length twice', withField('Content-Length: 3\r\nContent-Length: 3'), 'invalid_http'],
    ['a list of lengths', withField('Content-Length: 3, 3'), 'invalid_http'],
    ['a signed length', withField('Content-Length: +3'), 'invalid_http'],
    ['a hexadecimal length', withField('Content-Length: 0x3'), 'invalid_http'],
    ['a length with a tab behind it', withField('Content-Length: 3\t'), 'invalid_http'],
    ['an empty length', withField('Content-Length:'), 'invalid_http'],
    ['a length beyond all measure', withField(`Content-Length: ${'9'.repeat(20)}`), 'invalid_http'],
    ['an unknown coding', withField('Transfer-Encoding: gzip'), 'invalid_http'],
    ['chunked twice', withField('Transfer-Encoding: chunked, chunked'), 'invalid_http'],
    ['chunked not last', withField('Transfer-Encoding: chunked, gzip'), 'invalid_http'],
    ['a coding under chunked', withField('Transfer-Encoding: gzip, chunked'), 'transfer_coding_not_implemented'],
    ['an xchunked', withField('Transfer-Encoding: xchunked'), 'invalid_http'],
    ['chunked in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', 'invalid_http'],
    ['chunked in capitals', withField('Transfer-Encoding: CHUNKED'), 'accepted'],
    ['an unknown expectation', withField('Expect: a miracle'), 'expectation_failed'],
  ])('%s', (_name, text, code) => {
    expect(codeOf(() => readWhole(text))).toBe(code)
  })

  it('turns an absolute target into a path and lets its host overrule the field', () => {
    const { head: parsed, facts } = readWhole('GET http://b.example:81?q HTTP/1.1\r\nA: b\r\nHost: a\r\n\r\n')
    expect(parsed).toMatchObject({ target: '/?q', path: '/', query: 'q' })
    expect(parsed.headers.get('host')).toBe('b.example:81')
    expect(facts.host).toBe('b.example:81')
  })
})
