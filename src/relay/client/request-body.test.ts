import { describe, expect, it } from 'vitest'
import { ChunkedDecoder, LengthDecoder } from '../http/body-decoder.ts'
import { defaultRelayLimits } from '../limits.ts'
import { RequestBody } from './request-body.ts'

const source = { pause() {}, resume() {}, wanted() {} }

function bodyOf(length: number): RequestBody {
  return new RequestBody(new LengthDecoder(length), true, source)
}

describe('RequestBody', () => {
  it('keeps a body that comes whole, and leaves what follows it to the next request', () => {
    const body = bodyOf(4)
    expect(body.push(Buffer.from('headBODYnext'), 4)).toBe(8)
    expect(body).toMatchObject({ arrived: true, consumed: false })
    expect(body.keepIfArrived()?.toString()).toBe('BODY')
  })

  it('joins a body that comes in pieces', () => {
    const body = bodyOf(4)
    body.push(Buffer.from('BO'), 0)
    expect(body.keepIfArrived()).toBeUndefined()
    body.push(Buffer.from('DY'), 0)
    expect(body.keepIfArrived()?.toString()).toBe('BODY')
  })

  it('does not take the rest for the whole when somebody took the beginning', () => {
    const body = bodyOf(4)
    const taken: string[] = []
    const onPieces = (pieces: readonly Buffer[]) => {
      taken.push(...pieces.map(String))
      return true
    }
    body.consume({ onPieces, onEnd() {}, onError() {} })
    body.push(Buffer.from('BO'), 0)
    body.release()
    body.push(Buffer.from('DY'), 0)
    expect(taken).toEqual(['BO'])
    expect(body.keepIfArrived()).toBeUndefined()
    expect(body.consumed).toBe(true)
  })

  it('gives a body that came whole to whoever reads it, as often as it is asked for', async () => {
    const body = bodyOf(4)
    body.push(Buffer.from('BODY'), 0)
    const seen: string[] = []
    await body.readUntil(100, (piece) => seen.push(piece.toString()) > 0)
    expect(seen).toEqual(['BODY'])
    await body.readAll(100, (piece) => seen.push(piece.toString()))
    expect(seen).toEqual(['BODY', 'BODY'])
    expect(body.joined().toString()).toBe('BODY')
    await expect(body.readAll(3, () => {})).rejects.toThrow('3')
  })

  it('is kept in the pieces it came in, and joined only when it is asked for', async () => {
    const body = bodyOf(4_000)
    const reading = body.readAll(5_000, () => {})
    body.push(Buffer.alloc(2_000, 'a'), 0)
    body.push(Buffer.alloc(2_000, 'b'), 0)
    await reading
    expect(body.kept?.map((piece) => piece.length)).toEqual([2_000, 2_000])
    expect(body.joined().toString()).toBe('a'.repeat(2_000) + 'b'.repeat(2_000))
    expect(body.kept).toHaveLength(1)
  })

  it('ends where somebody looks and will not hold it', async () => {
    const body = bodyOf(4_000)
    const refused = new Error('too much')
    const reading = body.readAll(5_000, () => {
      throw refused
    })
    body.push(Buffer.alloc(10), 0)
    await expect(reading).rejects.toBe(refused)
    expect(body.failed).toBe(true)
  })

  it('of chunks of one byte is handed on in one piece for each read', async () => {
    const body = new RequestBody(new ChunkedDecoder(defaultRelayLimits), true, source)
    const sizes: number[] = []
    const reading = body.readAll(100_000, (piece) => sizes.push(piece.length))
    body.push(Buffer.from('1\r\nx\r\n'.repeat(10_000)), 0)
    body.push(Buffer.from('0\r\n\r\n'), 0)
    await reading
    expect(sizes).toEqual([10_000])
  })
})
