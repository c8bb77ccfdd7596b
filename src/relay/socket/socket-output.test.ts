import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { newReadBatch, OpenedEnds } from './socket-ends.fixture.ts'
import { SocketInput } from './socket-input.ts'
import { outputRoom, roomBytes, SocketOutput } from './socket-output.ts'

const ends = new OpenedEnds()
afterEach(() => ends.clear())

async function output() {
  const { accepted: socket, far } = await ends.open((accepted) => new SocketInput(newReadBatch()).accept(accepted))
  let drains = 0
  let onDrain = () => {}
  const drained = () =>
    new Promise<void>((resolve) => {
      onDrain = resolve
    })
  const out = new SocketOutput(socket, () => {
    drains++
    onDrain()
  })
  return { out, socket, far, drained, drains: () => drains }
}

const write = (out: SocketOutput, text: string): boolean => {
  const room = outputRoom.first(text.length)
  room.write(text, 'latin1')
  return out.write(room)
}

/** Until the system takes no more, because nobody reads at the other end. Returns what was written. */
function fill(out: SocketOutput, letter: string): string {
  let written = ''
  for (let count = 0; count < 10_000; count++) {
    const text = letter.repeat(roomBytes)
    written += text
    if (!write(out, text)) return written
  }
  throw new Error('the system takes everything')
}

async function readAll(far: Socket, bytes: number): Promise<string> {
  let text = ''
  far.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  while (text.length < bytes) await once(far, 'data')
  return text
}

describe('what the system takes at once', () => {
  it('is in no queue, and the place it was put together in is free again', async () => {
    const { out, socket, far, drains } = await output()
    const room = outputRoom.first(5)
    room.write('hello')
    expect(out.write(room)).toBe(true)
    expect(socket.writableLength).toBe(0)
    expect(out.needsDrain).toBe(false)
    expect(outputRoom.has(room)).toBe(true)
    expect(await readAll(far, 5)).toBe('hello')
    expect(drains()).toBe(0)
  })
})

describe('when nobody reads at the other end', () => {
  it('asks to wait, and says when there is room again', async () => {
    const { out, far, drained, drains } = await output()
    far.pause()
    const sent = fill(out, 'a')
    expect(out.needsDrain).toBe(true)
    expect(drains()).toBe(0)
    const room = drained()
    const received = readAll(far, sent.length)
    far.resume()
    await room
    expect(out.needsDrain).toBe(false)
    expect(write(out, 'more')).toBe(true)
    expect((await received).startsWith(sent)).toBe(true)
    expect(drains()).toBe(1)
  })

  it('what still has to go is not touched by what others send', async () => {
    const stalled = await output()
    stalled.far.pause()
    const sent = fill(stalled.out, 'a')
    const other = await output()
    expect(write(other.out, 'b'.repeat(roomBytes))).toBe(true)
    const received = readAll(stalled.far, sent.length)
    stalled.far.resume()
    expect(await received).toBe(sent)
    expect(await readAll(other.far, roomBytes)).toBe('b'.repeat(roomBytes))
  })

  it('keeps the order of what is written in different ways', async () => {
    const { out, socket, far } = await output()
    far.pause()
    let sent = fill(out, 'a')
    expect(out.writeTogether(['b'.repeat(10), Buffer.from('c'.repeat(100_000)), '', 'd'])).toBe(false)
    sent += `${'b'.repeat(10)}${'c'.repeat(100_000)}d`
    expect(socket.writableLength).toBeGreaterThan(0)
    expect(write(out, 'e')).toBe(false)
    sent += 'e'
    const received = readAll(far, sent.length)
    far.resume()
    expect(await received).toBe(sent)
  })

  it('what is said before the end arrives before it', async () => {
    const { out, socket, far } = await output()
    far.pause()
    const sent = fill(out, 'a')
    socket.end()
    let text = ''
    far.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    far.resume()
    await once(far, 'end')
    expect(text).toBe(sent)
  })
})

it('closes the connection when it cannot be written to', async () => {
  const { out, socket, far } = await output()
  const failed = once(socket, 'error')
  far.resetAndDestroy()
  // The first writes after a reset may still be taken.
  const keepWriting = () => {
    if (socket.destroyed) return
    write(out, 'x')
    setImmediate(keepWriting)
  }
  keepWriting()
  const [error] = await failed
  expect(error.code).toMatch(/^(?:EPIPE|ECONNRESET)$/)
  expect(socket.destroyed).toBe(true)
})

it('can be given up: the socket is written to and heard by somebody else', async () => {
  const { out, socket, far, drains } = await output()
  out.giveUp()
  far.pause()
  const block = Buffer.alloc(8_000_000)
  expect(socket.write(block)).toBe(false)
  const drained = once(socket, 'drain')
  far.resume()
  await drained
  expect(drains()).toBe(0)
})
