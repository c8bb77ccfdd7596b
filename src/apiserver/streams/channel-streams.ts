import type { Readable, Writable } from 'node:stream'
import { FedStream } from './fed-stream.ts'
import type { WebSocketConnection } from './websocket/websocket-connection.ts'
import { WebSocketViolation, opcodes } from './websocket/websocket-frames.ts'
import type { Message } from './websocket/websocket-messages.ts'

/**
 * Newest first. `v5` is `v4` with a way to close a channel; those without a version report the end of a command only if
 * it failed, in words; `base64` is for clients that can only send text.
 */
export const channelProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
] as const

export type ChannelProtocol = (typeof channelProtocols)[number]

/** In `v5`, the channel whose messages close the channel that their second byte names. */
const closeChannel = 255

export interface ChannelMessage {
  readonly channel: number
  readonly data: Buffer
}

/** `undefined`: the message is empty, without even a channel. */
export function decodeChannelMessage(protocol: ChannelProtocol, { data }: Message): ChannelMessage | undefined {
  const [first] = data
  if (first === undefined) return undefined
  if (!isText(protocol)) return { channel: first, data: data.subarray(1) }
  const text = data.toString('latin1', 1)
  const channel = first - 0x30
  if (channel < 0 || channel > 9) throw new WebSocketViolation(1002, 'a message must begin with the digit of a channel')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new WebSocketViolation(1007, 'a message is not base64')
  return { channel, data: Buffer.from(text, 'base64') }
}

export function encodeChannelMessage(protocol: ChannelProtocol, { channel, data }: ChannelMessage): Buffer {
  if (!isText(protocol)) return Buffer.concat([Buffer.of(channel), data])
  return Buffer.from(String(channel) + data.toString('base64'), 'latin1')
}

/** The channels of a connection as streams. */
export class ChannelStreams {
  readonly #connection: WebSocketConnection
  readonly #protocol: ChannelProtocol
  readonly #touch: () => void
  readonly #channels = new Map<number, FedStream>()

  /** `touch` is called whenever something flows. */
  constructor(connection: WebSocketConnection, protocol: ChannelProtocol, touch: () => void) {
    this.#connection = connection
    this.#protocol = protocol
    this.#touch = touch
    connection.left.addEventListener('abort', () => this.#destroy(), { once: true })
  }

  /** What the client sends on a channel; what it sends on other channels is dropped. */
  input(channel: number): Readable {
    return this.#open(channel, new FedStream())
  }

  output(channel: number): Writable {
    // Whatever the client sends on it is discarded.
    return this.duplex(channel).resume()
  }

  duplex(channel: number): FedStream {
    return this.#open(channel, new FedStream({ write: (data, done) => this.send(channel, data, done) }))
  }

  send(channel: number, data: Buffer, sent?: (error?: Error | null) => void): void {
    this.#touch()
    const opcode = isText(this.#protocol) ? opcodes.text : opcodes.binary
    this.#connection.send(opcode, encodeChannelMessage(this.#protocol, { channel, data }), sent)
  }

  /** Reads until the connection is gone. */
  receive(): Promise<void> {
    return this.#connection.receive(async (message) => {
      const decoded = decodeChannelMessage(this.#protocol, message)
      if (!decoded) return
      this.#touch()
      const { channel, data } = decoded
      if (channel === closeChannel && this.#protocol === 'v5.channel.k8s.io') {
        this.#channels.get(data[0] ?? closeChannel)?.feedEnd()
      } else await this.#channels.get(channel)?.feed(data)
    })
  }

  #open(channel: number, stream: FedStream): FedStream {
    this.#channels.set(channel, stream)
    if (this.#connection.left.aborted) stream.destroy()
    return stream
  }

  #destroy(): void {
    for (const stream of this.#channels.values()) stream.destroy()
  }
}

function isText(protocol: ChannelProtocol): boolean {
  return protocol === 'v4.base64.channel.k8s.io' || protocol === 'base64.channel.k8s.io'
}
