import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { OpenedSecureEnds } from './secure-ends.fixture.ts'
import { outputRoom, roomBytes, SocketOutput } from './socket-output.ts'
import { SecureOutput } from './secure-output.ts'

const ends = new OpenedSecureEnds()
afterEach(() => ends.clear())

async function output() {
  const { accepted: socket, far } = await ends.open()
  let onDrain = () => {}
  const drained = () =>
    new Promise<void>((resolve) => {
      onDrain = resolve
    })
  const out = new SocketOutput(socket, () => onDrain())
  return { out, socket, far, drained }
}

const write = (out: SocketOutput, text: string): boolean => {
  const room = outputRoom.first(text.length)
  room.write(text, 'latin1')
  const isTaken = out.write(room)
  // Whoever writes next uses the same place.
  room.fill('?')
  return isTaken
}

async function readAll(far: Socket, bytes: number): Promise<string> {
  let text = ''
  far.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  while (text.length < bytes) await once(far, 'data')
  return text
}

/** Unlike `once`, also after an error. */
const closing = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))

/** Until it should be waited, because nobody reads at the other end. Returns what was written. */
function fill(out: SocketOutput): string {
  let written = ''
  for (let count = 0; count < 10_000; count++) {
    const text = String.fromCharCode(97 + (count % 26)).repeat(roomBytes)
    written += text
    if (!write(out, text)) return written
  }
  throw new Error('everything is taken')
}

it('is there for the server side of a TLS connection: Node has what it rests on', async () => {
  const { accepted } = await ends.open()
  expect(SecureOutput.of(accepted)).toBeDefined()
})

it('writes past the stream, and what comes while a write is under way through it, in order', async () => {
  const { out, socket, far } = await output()
  expect(write(out, 'one ')).toBe(true)
  expect(socket.writableLength).toBe(0)
  expect(write(out, 'two ')).toBe(true)
  expect(socket.writableLength).toBe(4)
  out.writeTogether(['three ', Buffer.from('four ')])
  socket.write('five')
  expect(await readAll(far, 23)).toBe('one two three four five')
  expect(socket.writableLength).toBe(0)
  expect(write(out, ' six')).toBe(true)
  expect(socket.writableLength).toBe(0)
})

it('can be used again and again', async () => {
  const { out, far } = await output()
  const received = readAll(far, 5_000)
  for (let count = 0; count < 1_000; count++) {
    write(out, String(count % 10).repeat(5))
    if (count % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await received).toBe(Array.from({ length: 1_000 }, (_, count) => String(count % 10).repeat(5)).join(''))
})

it('asks to wait when nobody reads at the other end, and says when there is room again', async () => {
  const { out, socket, far, drained } = await output()
  far.pause()
  const sent = fill(out)
  expect(out.needsDrain).toBe(true)
  expect(socket.writableLength).toBeLessThan(sent.length)
  const room = drained()
  const received = readAll(far, sent.length)
  far.resume()
  await room
  expect(await received).toBe(sent)
  expect(write(out, 'more')).toBe(true)
})

it('lets what was written arrive before the end', async () => {
  const { out, socket, far } = await output()
  write(out, 'last words')
  socket.end()
  let text = ''
  far.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  await once(far, 'end')
  expect(text).toBe('last words')
})

it('leaves the rest to somebody else in the middle of a write', async () => {
  const { out, socket, far } = await output()
  write(out, 'mine ')
  out.giveUp()
  socket.write('theirs ')
  socket.end('and the end')
  expect(await readAll(far, 23)).toBe('mine theirs and the end')
})

it('closes the connection when it cannot be written to, and survives a cut in the middle of a write', async () => {
  const { out, socket, far } = await output()
  far.destroy()
  const closed = closing(socket)
  const keepWriting = () => {
    if (socket.destroyed) return
    write(out, 'x')
    setImmediate(keepWriting)
  }
  keepWriting()
  await closed

  const other = await output()
  write(other.out, 'cut')
  other.socket.write('held')
  other.socket.destroy()
  await closing(other.socket)
  expect(write(other.out, 'too late')).toBe(false)
})
