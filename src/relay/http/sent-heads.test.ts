import { describe, expect, it } from 'vitest'
import type { HeaderField } from './header-field.ts'
import { headerField } from './header-list.ts'
import { type SentHead, SentHeads, writeSentHead } from './sent-heads.ts'

const text = 'POST /v1/chat HTTP/1.1\r\nhost: a\r\n'
const cors = headerField('access-control-allow-origin', '*')
const id = (value: string) => headerField('x-request-id', value)
const nothing: readonly string[] = []

function written(head: SentHead | undefined, set: readonly HeaderField[]): string {
  let all = ''
  const addBuffer = (bytes: Buffer) => (all += bytes.toString('latin1'))
  if (head) writeSentHead(head, set, { addBuffer, addText: (line) => (all += line) })
  return all
}

describe('SentHeads', () => {
  it('keeps what is the same each time, and leaves out what is not', () => {
    const heads = new SentHeads()
    const first = heads.remember('/v1/chat', [id('1'), cors], nothing, { text })
    expect(first).toMatchObject({ bytes: undefined, text: `${text}access-control-allow-origin: *\r\n` })
    expect(written(first, [id('1'), cors])).toBe(`${first.text}x-request-id: 1\r\n`)
    const second = heads.like('/v1/chat', [id('2'), cors], nothing)
    expect(second).toMatchObject({ bytes: Buffer.from(first.text), text: '' })
    expect(heads.like('/v1/chat', [id('3'), cors], nothing)).toBe(second)
    expect(written(second, [id('3'), cors])).toBe(`${first.text}x-request-id: 3\r\n`)
  })

  it.each([
    ['another target', '/v1/other', [id('1'), cors], nothing],
    ['another value of a steady field', '/v1/chat', [id('1'), headerField(cors.name, 'https://a')], nothing],
    ['another field', '/v1/chat', [id('1'), headerField('x-other-id', '1')], nothing],
    ['a field more', '/v1/chat', [id('1'), cors, cors], nothing],
    ['another list of fields to remove', '/v1/chat', [id('1'), cors], ['authorization']],
  ])('does not take %s for the same', (_what, target, set, remove) => {
    const heads = new SentHeads()
    heads.remember('/v1/chat', [id('1'), cors], nothing, { text })
    expect(heads.like(target, set, remove)).toBeUndefined()
  })

  it('sets no field that says how the message is framed', () => {
    const framing = [headerField('content-length', '5'), headerField('connection', 'close')]
    const head = new SentHeads().remember('/v1/chat', framing, nothing, { text })
    expect(written(head, framing)).toBe(text)
  })
})
