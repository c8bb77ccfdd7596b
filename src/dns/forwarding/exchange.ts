import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import { nameKey } from '../messages/domain-name.ts'
import { MessageFramer, framed } from '../messages/message-framer.ts'
import type { Message, Question } from '../messages/message.ts'
import { readMessage } from '../messages/message-reader.ts'
import type { Upstream } from './resolvers-file.ts'

export interface ExchangeOptions {
  readonly clock: Clock
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

/** Asks over UDP, from a random port of its own. Rejects when no answer comes in time. */
export function askOverUdp(
  query: Message,
  bytes: Buffer,
  upstream: Upstream,
  options: ExchangeOptions,
): Promise<Message> {
  return inTime(options, (resolve, reject) => {
    const socket = createSocket(isIPv6(upstream.address) ? 'udp6' : 'udp4')
    socket.on('error', reject)
    // A connected socket receives datagrams from that address only. One that does not match is ignored: it may be a
    // forgery.
    socket.on('message', (answer) => {
      const message = answerTo(query, answer)
      if (message) resolve(message)
    })
    socket.on('connect', () => socket.send(bytes))
    // Without a callback, a failure here is an error of the socket like any other.
    socket.connect(upstream.port, upstream.address)
    return () => socket.close()
  })
}

/** The same over TCP, for answers that are too large for a datagram. */
export function askOverTcp(
  query: Message,
  bytes: Buffer,
  upstream: Upstream,
  options: ExchangeOptions,
): Promise<Message> {
  return inTime(options, (resolve, reject) => {
    const socket = connect({ host: upstream.address, port: upstream.port, noDelay: true })
    const framer = new MessageFramer()
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection ended without an answer')))
    socket.on('connect', () => socket.write(framed(bytes)))
    socket.on('data', (piece) => {
      framer.add(piece)
      const received = framer.next()
      if (!received) return
      const message = answerTo(query, received)
      if (message) resolve(message)
      else reject(new Error('an answer to another question'))
    })
    return () => socket.destroy()
  })
}

/** `undefined` unless it is the answer to exactly this question. */
function answerTo({ id, questions: [asked] }: Message, bytes: Buffer): Message | undefined {
  try {
    const message = readMessage(bytes)
    const [question] = message.questions
    const fits = message.response && message.id === id && message.opcode === 0 && message.questions.length === 1
    return fits && question && asked && sameQuestion(question, asked) ? message : undefined
  } catch {
    return undefined
  }
}

function sameQuestion(one: Question, other: Question): boolean {
  return one.type === other.type && one.class === other.class && nameKey(one.name) === nameKey(other.name)
}

/** Settles with whatever happens first, and then releases what was used. */
function inTime<T>(
  { clock, deadlineMs, signal }: ExchangeOptions,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const stopped = () => reject(new Error('stopped'))
  const cancel = clock.after(deadlineMs, () => reject(new Error('no answer in time')))
  signal.addEventListener('abort', stopped, { once: true })
  if (signal.aborted) stopped()
  const end = begin(resolve, reject)
  return promise.finally(() => {
    cancel()
    signal.removeEventListener('abort', stopped)
    end()
  })
}
