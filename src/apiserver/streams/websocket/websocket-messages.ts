import { isUtf8 } from 'node:buffer'
import { type Frame, WebSocketViolation, opcodes } from './websocket-frames.ts'

export interface Message {
  readonly text: boolean
  readonly data: Buffer
}

/** Joins the frames of messages, within a bound. Control frames come in between and are handled elsewhere. */
export class MessageAssembler {
  readonly #mostBytes: number
  #begun: { readonly text: boolean; readonly parts: Buffer[]; size: number } | undefined

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** The message that this frame completes, if it does. */
  add({ opcode, final, payload }: Frame): Message | undefined {
    const continued = opcode === opcodes.continuation
    if (continued !== (this.#begun !== undefined)) {
      const problem = continued ? 'there is no message to continue' : 'the message before is not complete yet'
      throw new WebSocketViolation(1002, problem)
    }
    const message = this.#begun ?? { text: opcode === opcodes.text, parts: [], size: 0 }
    // Empty frames are allowed and must take no memory, however many there are.
    if (payload.length > 0) message.parts.push(payload)
    message.size += payload.length
    if (message.size > this.#mostBytes) {
      throw new WebSocketViolation(1009, `a message has more than ${this.#mostBytes} bytes`)
    }
    this.#begun = final ? undefined : message
    if (!final) return undefined
    const data = Buffer.concat(message.parts, message.size)
    if (message.text && !isUtf8(data)) throw new WebSocketViolation(1007, 'a text message is not UTF-8')
    return { text: message.text, data }
  }
}
