import { describe, expect, it } from 'vitest'
import { bytesOf, doubleOf, fieldsOf, numberOf, textOf } from './protobuf-wire.ts'
import { ProtobufWriter } from './protobuf-writer.ts'

function written(write: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter()
  write(writer)
  return writer.finish()
}

describe('written protobuf', () => {
  it('has the bytes of the wire format', () => {
    const bytes = written((writer) => {
      writer.text(1, 'é')
      writer.integer(2, 300)
      writer.boolean(3, true)
      writer.message(16, () => writer.text(1, 'a'))
    })
    expect(bytes.toString('hex')).toBe('0a02c3a910ac0218018201030a0161')
  })

  it.each([0, 1, 127, 128, 16_383, 16_384, 70_000, 2_100_000])('holds a message of %d bytes', (size) => {
    const bytes = written((writer) => {
      writer.message(1, () => writer.message(2, () => writer.text(3, 'x'.repeat(size))))
      writer.text(4, 'after')
    })
    const [outer, after] = [...fieldsOf(bytes)]
    const [inner] = [...fieldsOf(bytesOf(outer?.value ?? Buffer.alloc(0)))]
    const [text] = [...fieldsOf(bytesOf(inner?.value ?? Buffer.alloc(0)))]
    expect(text === undefined ? 0 : bytesOf(text.value).length).toBe(size)
    expect(textOf(after?.value ?? 0n)).toBe('after')
  })

  it.each([1, 127, 128, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER])('holds the number %d', (value) => {
    const [field] = [...fieldsOf(written((writer) => writer.integer(5, value)))]
    expect(numberOf(field?.value ?? 0n)).toBe(value)
  })

  it.each([0.5, -3, 1e300])('holds the fraction %d', (value) => {
    const [field] = [...fieldsOf(written((writer) => writer.double(6, value)))]
    expect(doubleOf(field?.value ?? 0n)).toBe(value)
  })

  it('leaves out what is zero, but not a choice', () => {
    const bytes = written((writer) => {
      writer.text(1, '')
      writer.integer(2, 0)
      writer.integer(2, -1)
      writer.integer(2, 1.5)
      writer.double(3, 0)
      writer.boolean(4, false)
      writer.boolean(5, false, true)
    })
    expect(bytes.toString('hex')).toBe('2800')
  })
})
