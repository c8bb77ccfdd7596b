import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { AttachedOutput } from './attached-output.ts'

/** A client that reads nothing until it is told to. */
class SlowClient extends Writable {
  text = ''
  #waiting: (() => void) | undefined
  #isFast = false

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('latin1')
    if (this.#isFast) done()
    else this.#waiting = done
  }

  takeAll(): void {
    this.#isFast = true
    this.#waiting?.()
  }
}

describe('what is shown to whoever is attached', () => {
  it('is what is said, though the memory it came in is used again', () => {
    const client = new SlowClient()
    client.takeAll()
    const said = Buffer.from('one')
    const output = new AttachedOutput(client)
    output.show(said)
    said.write('two')
    output.show(said)
    expect(client.text).toBe('onetwo')
  })

  it('is bounded where it is taken too slowly, and then says how much is missing', () => {
    const client = new SlowClient()
    const output = new AttachedOutput(client)
    const piece = Buffer.alloc(2 ** 19, 'x')
    for (let count = 0; count < 10; count += 1) output.show(piece)
    expect(client.writableLength).toBeLessThan(2 ** 21)
    client.takeAll()
    output.show(Buffer.from('last'))
    const shown = client.text.replaceAll('x', '')
    expect(shown).toMatch(/^\r\n\.\.\. (\d+) bytes were not shown: they came too fast \.\.\.\r\nlast$/)
    const missing = Number(/\d+/.exec(shown)?.[0])
    expect(client.text.length - shown.length + missing).toBe(10 * piece.length)
  })

  it('goes nowhere when nobody wants it, or nobody is there any more', () => {
    const client = new SlowClient()
    client.destroy()
    expect(() => new AttachedOutput(client).show(Buffer.from('x'))).not.toThrow()
    expect(() => new AttachedOutput(undefined).show(Buffer.from('x'))).not.toThrow()
  })
})
