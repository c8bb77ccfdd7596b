import { describe, expect, it } from 'vitest'
import { LengthDecoder } from './body-decoder.ts'
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
    expect((await body.readAll(100)).toString()).toBe('BODY')
    await expect(body.readAll(3)).rejects.toThrow('3')
  })
})
