import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { OpenedSecureEnds } from './secure-ends.fixture.ts'
import { newReadBatch, OpenedEnds } from './socket-ends.fixture.ts'
import { SocketInput } from './socket-input.ts'
import { untilLeftUnread } from './unread-bytes.fixture.ts'

const ends = new OpenedEnds()
const secureEnds = new OpenedSecureEnds()
afterEach(() => {
  ends.clear()
  secureEnds.clear()
})

async function acceptedInput() {
  const input = new SocketInput(newReadBatch())
  const { server, accepted: socket, far } = await ends.open((accepted) => input.accept(accepted))
  let text = ''
  let enough = () => {}
  input.listen(socket, (chunk) => {
    text += chunk.toString()
    enough()
  })
  const until = (wanted: string) =>
    new Promise<void>((resolve) => {
      enough = () => {
        if (text.endsWith(wanted)) resolve()
      }
      enough()
    })
  return { server, far, input, socket, until, text: () => text }
}

const connections = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })

it('takes what an accepted connection receives, past its stream', async () => {
  const { far, socket, until, text } = await acceptedInput()
  far.write('one')
  await until('one')
  far.write('two')
  await until('two')
  expect(text()).toBe('onetwo')
  expect(socket.readableLength).toBe(0)
})

it('keeps what it took when more arrives for somebody else', async () => {
  const input = new SocketInput(newReadBatch())
  const { accepted: socket, far } = await ends.open((accepted) => input.accept(accepted))
  const chunks: Buffer[] = []
  const first = new Promise<void>((resolve) => {
    input.listen(socket, (chunk) => {
      chunks.push(chunk)
      resolve()
    })
  })
  far.write('mine')
  await first
  const other = await acceptedInput()
  other.far.write('theirs')
  await other.until('theirs')
  expect(chunks.map(String)).toEqual(['mine'])
})

it('reads nothing while the connection is paused', async () => {
  const { far, socket, until, text } = await acceptedInput()
  far.write('one')
  await until('one')
  socket.pause()
  await new Promise<void>((resolve) => far.write('two', () => resolve()))
  // What the other end has sent is here by then: both are on this machine.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(text()).toBe('one')
  socket.resume()
  await until('onetwo')
})

it('can still be written to when the other end has said its last', async () => {
  const { far, socket, until } = await acceptedInput()
  const ended = once(socket, 'end')
  far.end('bye')
  await until('bye')
  await ended
  socket.end('and good luck')
  const [answer] = await once(far, 'data')
  expect(String(answer)).toBe('and good luck')
})

it('is counted by the server until it closes', async () => {
  const { server, far, socket } = await acceptedInput()
  expect(await connections(server)).toBe(1)
  const closed = once(socket, 'close')
  far.destroy()
  socket.destroy()
  await closed
  expect(await connections(server)).toBe(0)
  const stopped = new Promise<unknown>((resolve) => server.close(resolve))
  expect(await stopped).toBeUndefined()
})

it('leaves the rest to the stream once it is given up', async () => {
  const { far, input, socket, until, text } = await acceptedInput()
  far.write('one')
  await until('one')
  input.giveUp(socket)
  const streamed = once(socket, 'data')
  far.write('two')
  expect(String((await streamed)[0])).toBe('two')
  expect(text()).toBe('one')
})

describe('a connection with TLS', () => {
  async function secureInput() {
    const input = new SocketInput(newReadBatch())
    const { accepted, far } = await secureEnds.open()
    const socket = input.accept(accepted)
    let text = ''
    let enough = () => {}
    input.listen(socket, (chunk) => {
      text += chunk.toString()
      enough()
    })
    const until = (wanted: string) =>
      new Promise<void>((resolve) => {
        enough = () => {
          if (text.endsWith(wanted)) resolve()
        }
        enough()
      })
    return { far, input, socket, until, text: () => text }
  }

  it('is read past its stream, too, and not while it is paused', async () => {
    const { far, socket, until, text } = await secureInput()
    expect(socket.listenerCount('data')).toBe(0)
    far.write('one')
    await until('one')
    expect(socket.readableLength).toBe(0)
    socket.pause()
    far.write('two')
    await untilLeftUnread(far, () => far.bytesWritten)
    expect(text()).toBe('one')
    socket.resume()
    await until('onetwo')
  })

  it('can still be written to when the other end has said its last', async () => {
    const { far, socket, until } = await secureInput()
    const ended = once(socket, 'end')
    far.end('bye')
    await until('bye')
    await ended
    socket.end('and good luck')
    const [answer] = await once(far, 'data')
    expect(String(answer)).toBe('and good luck')
  })

  it('leaves the rest to the stream once it is given up, which may be slow', async () => {
    const { far, input, socket, until, text } = await secureInput()
    far.write('one')
    await until('one')
    input.giveUp(socket)
    const sent = Buffer.alloc(2_000_000, 'abcdefghij')
    far.write(sent)
    await untilLeftUnread(far, () => 0)
    expect(socket.readableLength).toBeLessThan(1_000_000)
    const pieces: Buffer[] = []
    socket.on('data', (chunk: Buffer) => pieces.push(chunk))
    while (pieces.reduce((sum, piece) => sum + piece.length, 0) < sent.length) await once(socket, 'data')
    expect(Buffer.concat(pieces).equals(sent)).toBe(true)
    expect(text()).toBe('one')
  })
})

it('listens to the stream of a connection that Node has no handle for, and stops when it is given up', async () => {
  const { accepted, far } = await ends.open()
  // As a kind of socket that is not known here.
  Object.setPrototypeOf(accepted, Object.create(Object.getPrototypeOf(accepted)))
  const input = new SocketInput(newReadBatch())
  const socket: Socket = input.accept(accepted)
  expect(socket).toBe(accepted)
  const received = new Promise<string>((resolve) => input.listen(socket, (chunk) => resolve(chunk.toString())))
  far.write('hello')
  expect(await received).toBe('hello')
  input.giveUp(socket)
  expect(socket.listenerCount('data')).toBe(0)
})
