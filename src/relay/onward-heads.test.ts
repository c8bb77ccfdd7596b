import { describe, expect, it } from 'vitest'
import { headerField } from './header-list.ts'
import { changingLines, OnwardHeads } from './onward-heads.ts'

const text = 'POST /v1/chat HTTP/1.1\r\nhost: a\r\n'
const cors = headerField('access-control-allow-origin', '*')
const id = (value: string) => headerField('x-request-id', value)
const nothing: readonly string[] = []

describe('OnwardHeads', () => {
  it('keeps what is the same each time, and leaves out what is not', () => {
    const heads = new OnwardHeads()
    const { bytes } = heads.remember('/v1/chat', [id('1'), cors], nothing, { text })
    expect(bytes.toString()).toBe(`${text}access-control-allow-origin: *\r\n`)
    expect(changingLines([id('1'), cors])).toBe('x-request-id: 1\r\n')
    expect(heads.like('/v1/chat', [id('2'), cors], nothing)?.bytes).toBe(bytes)
  })

  it.each([
    ['another target', '/v1/other', [id('1'), cors], nothing],
    ['another value of a steady field', '/v1/chat', [id('1'), headerField(cors.name, 'https://a')], nothing],
    ['another field', '/v1/chat', [id('1'), headerField('x-other-id', '1')], nothing],
    ['a field more', '/v1/chat', [id('1'), cors, cors], nothing],
    ['another list of fields to remove', '/v1/chat', [id('1'), cors], ['authorization']],
  ])('does not take %s for the same', (_what, target, set, remove) => {
    const heads = new OnwardHeads()
    heads.remember('/v1/chat', [id('1'), cors], nothing, { text })
    expect(heads.like(target, set, remove)).toBeUndefined()
  })

  it('stops remembering where nothing is ever the same', () => {
    const heads = new OnwardHeads()
    for (let index = 0; index < 20; index++) {
      heads.remember(`/${index}`, [], nothing, { text: `GET /${index} HTTP/1.1\r\n` })
    }
    expect(heads.like('/19', [], nothing)).toBeUndefined()
    const { bytes } = heads.remember('/20', [], nothing, { text: 'GET /20 HTTP/1.1\r\n' })
    expect(bytes.toString()).toBe('GET /20 HTTP/1.1\r\n')
  })

  it('sets no field that says how the message is framed', () => {
    const framing = [headerField('content-length', '5'), headerField('connection', 'close')]
    const { bytes } = new OnwardHeads().remember('/v1/chat', framing, nothing, { text })
    expect(bytes.toString() + changingLines(framing)).toBe(text)
  })
})
