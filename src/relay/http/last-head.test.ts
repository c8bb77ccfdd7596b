import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../../foundation/errors.ts'
import { defaultRelayLimits } from '../limits.ts'
import { HeadReader } from './head-reader.ts'
import { type ParsedRequest, requestHeads } from './request-head.ts'
import { responseHeads } from './response-head.ts'

function readAll(texts: readonly string[], reader = new HeadReader(defaultRelayLimits, requestHeads)): ParsedRequest[] {
  return texts.map((text) => {
    const bytes = Buffer.from(`${text}BODY`, 'latin1')
    expect(reader.push(bytes, 0)).toBe(text.length)
    return reader.take()
  })
}

function readAlone(text: string): ParsedRequest {
  const [request] = readAll([text])
  if (!request) throw new Error('nothing was read')
  return request
}

const post = (length: string, more = '') =>
  `POST /v1/chat HTTP/1.1\r\nHost: a.example\r\ncontent-length: ${length}\r\nAuthorization: Bearer x\r\n${more}\r\n`

describe('heads that one sender repeats', () => {
  it('are recognised, and not parsed again', () => {
    const [first, second] = readAll([post('180'), post('180')])
    expect(second).toBe(first)
  })

  it('are recognised by all but their length', () => {
    const [, second, third] = readAll([post('180'), post('7'), post('1234567')])
    expect(second?.facts.contentLength).toBe(7)
    expect(second?.head.headers.get('content-length')).toBe('7')
    expect(third?.facts.contentLength).toBe(1_234_567)
    expect(third?.sentHeads).toBe(second?.sentHeads)
  })

  it('say the same as when they are parsed alone, whatever came before them', () => {
    const length = fc.oneof(fc.nat(5_000).map(String), fc.constantFrom('007', '180', '180', '18'))
    const more = fc.constantFrom('', '', 'X-Trace: 1\r\n', 'X-Trace: 2\r\n', 'Connection: close\r\n')
    fc.assert(
      fc.property(fc.array(fc.tuple(length, more), { maxLength: 20 }), (said) => {
        const texts = said.map(([digits, fields]) => post(digits, fields))
        const told = ({ head, facts, expectsContinue }: ParsedRequest) => ({ head, facts, expectsContinue })
        expect(readAll(texts).map(told)).toEqual(texts.map((text) => told(readAlone(text))))
      }),
    )
  })

  it.each(['-1', '', '1,2', '0x10', '1 2', '1\r\nContent-Length: 2', '1'.repeat(16)])(
    'are refused with the length %j like any other',
    (length) => {
      const reader = new HeadReader(defaultRelayLimits, requestHeads)
      readAll([post('180')], reader)
      const refused = () => {
        reader.push(Buffer.from(post(length), 'latin1'), 0)
        return reader.take()
      }
      expect(refused).toThrow(SluiceError)
    },
  )

  it('do not hide what is different behind the length', () => {
    const [, second] = readAll([post('180'), post('180', 'Transfer-Encoding-Like: x\r\n')])
    expect(second?.head.headers.get('transfer-encoding-like')).toBe('x')
  })

  it('are found across messages in one piece', () => {
    const text = post('4')
    const bytes = Buffer.from(`${text}BODY${text}BODY`, 'latin1')
    const reader = new HeadReader(defaultRelayLimits, requestHeads)
    const first = reader.push(bytes, 0)
    reader.take()
    expect(reader.push(bytes, first + 4)).toBe(2 * text.length + 4)
  })

  it('are forgotten when no two are alike: then nothing is kept any more', () => {
    const reader = new HeadReader(defaultRelayLimits, requestHeads)
    readAll(
      Array.from({ length: 20 }, (_, index) => post('1', `X-Trace: ${index}\r\n`)),
      reader,
    )
    const [first, second] = readAll([post('1'), post('1')], reader)
    expect(second).not.toBe(first)
    expect(second).toEqual(first)
  })

  it('are recognised in responses, too, with the status that they have', () => {
    const reader = new HeadReader(defaultRelayLimits, responseHeads)
    const read = (text: string) => {
      reader.push(Buffer.from(text, 'latin1'), 0)
      return reader.take()
    }
    const answer = (status: string, length: number) => `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\n\r\n`
    const first = read(answer('200 OK', 5))
    expect(read(answer('200 OK', 5))).toBe(first)
    expect(read(answer('200 OK', 6)).facts.contentLength).toBe(6)
    expect(read(answer('503 No', 5)).head.status).toBe(503)
  })
})
