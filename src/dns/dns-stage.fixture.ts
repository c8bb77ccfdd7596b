import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { NamesStage } from './names/cluster-names.fixture.ts'
import { DnsMetrics } from './dns-metrics.ts'
import { DnsServer } from './dns-server.ts'
import { nameOf } from './messages/domain-name.ts'
import { MessageFramer, framed as framedBytes } from './messages/message-framer.ts'
import { type Message, internetClass, mostMessageBytes, recordTypes } from './messages/message.ts'
import { readMessage } from './messages/message-reader.ts'
import { writeMessage } from './messages/message-writer.ts'
import type { Upstream } from './forwarding/resolvers-file.ts'
import { TcpFace } from './listening/tcp-face.ts'
import { UdpFace } from './listening/udp-face.ts'

export const localhost = '127.0.0.1'

export function newQuery(name: string, type: keyof typeof recordTypes = 'A', more: Partial<Message> = {}): Message {
  return {
    id: 4_711,
    response: false,
    opcode: 0,
    authoritative: false,
    truncated: false,
    recursionDesired: true,
    recursionAvailable: false,
    authenticData: false,
    checkingDisabled: false,
    rcode: 0,
    questions: [{ name: nameOf(name) ?? [], type: recordTypes[type], class: internetClass }],
    answers: [],
    authorities: [],
    additionals: [],
    edns: undefined,
    ...more,
  }
}

export function bytesOf(message: Message): Buffer {
  return writeMessage(message, mostMessageBytes)
}

export function framed(message: Message): Buffer {
  return framedBytes(bytesOf(message))
}

/** A DNS server at a free port, with the names of a `NamesStage`. */
export async function startServer({ clock = systemClock, upstreams = [] as readonly Upstream[] } = {}) {
  const stage = new NamesStage()
  const metrics = new Metrics()
  const server = new DnsServer({
    names: stage.names,
    upstreams: () => Promise.resolve(upstreams),
    clock,
    log: silentLogger,
    metrics: new DnsMetrics(metrics),
  })
  onTestFinished(() => server.close())
  const { port } = await server.listen(localhost, 0)
  return { stage, server, port, metrics }
}

/** The bytes of the first datagram that comes back. */
export async function exchange(port: number, query: Buffer): Promise<Buffer> {
  const socket = createSocket('udp4')
  try {
    return await new Promise<Buffer>((resolve) => {
      socket.once('message', resolve)
      socket.send(query, port, localhost)
    })
  } finally {
    socket.close()
  }
}

export async function askUdp(port: number, query: Message): Promise<Message> {
  return readMessage(await exchange(port, bytesOf(query)))
}

/** A connected client, and the messages it receives. */
export class TcpClient {
  readonly socket: Socket
  readonly #framer = new MessageFramer()
  readonly closed: Promise<unknown>

  private constructor(socket: Socket) {
    this.socket = socket
    this.closed = once(socket, 'close')
    socket.on('error', () => {})
    socket.on('data', (piece) => this.#framer.add(piece))
  }

  static async connect(port: number): Promise<TcpClient> {
    const client = new TcpClient(connect({ port, host: localhost }))
    onTestFinished(() => void client.socket.destroy())
    await once(client.socket, 'connect')
    return client
  }

  async next(): Promise<Message> {
    for (;;) {
      const bytes = this.#framer.next()
      if (bytes) return readMessage(bytes)
      await once(this.socket, 'data')
    }
  }
}

type Answerer = (query: Message, transport: 'udp' | 'tcp') => Message | undefined | Promise<Message | undefined>

/** An external resolver over both transports, which records what it is asked. */
export async function startUpstream(answer: Answerer, clock: Clock = systemClock) {
  const asked: Message[] = []
  const arrivals = new EventTarget()
  const resolver = {
    answer: async (bytes: Buffer, { transport }: { transport: 'udp' | 'tcp' }) => {
      const query = readMessage(bytes)
      asked.push(query)
      arrivals.dispatchEvent(new Event('query'))
      const reply = await answer(query, transport)
      return reply && bytesOf(reply)
    },
  }
  const tcp = new TcpFace({ resolver, clock, metrics: new DnsMetrics() })
  const udp = new UdpFace(localhost, resolver)
  onTestFinished(async () => void (await Promise.all([tcp.close(), udp.close()])))
  const port = await tcp.listen(localhost, 0)
  await udp.listen(localhost, port)
  const until = async (count: number) => {
    while (asked.length < count) await once(arrivals, 'query')
  }
  return { address: localhost, port, asked, until }
}

export function replyOf(query: Message, more: Partial<Message>): Message {
  return { ...query, response: true, recursionAvailable: true, ...more }
}
