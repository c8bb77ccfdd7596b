import { putBytes } from '../foundation/put-bytes.ts'
import { outputRoom, roomBytes, type SocketOutput } from './socket-output.ts'

type BatchOutput = Pick<SocketOutput, 'needsDrain' | 'write' | 'writeGathered'>

/**
 * Gathers what goes out in one turn of the event loop, so that a head and a small body leave in one write. It is put together
 * where all connections do that; who is not done yet when another one begins takes along what it has.
 */
export class OutputBatch {
  /** Whose bytes are in the room. */
  static #holder: OutputBatch | undefined
  readonly #output: BatchOutput
  /** How much of the room is ours. */
  #at = 0
  /** A buffer that came first goes out as it is, if it stays alone. */
  #first: Buffer | undefined
  /** What the room is too small for, with all that comes behind it. */
  #rest: Array<string | Buffer> | undefined

  constructor(output: BatchOutput) {
    this.#output = output
  }

  /** Latin-1: heads and framing. One that was joined from others takes several times as long as these one after the other. */
  addText(text: string): void {
    if (this.#takesRoom(text.length)) this.#at += outputRoom.bytes.write(text, this.#at, 'latin1')
    else this.#addRest(text)
  }

  addBuffer(buffer: Buffer): void {
    if (buffer.length === 0) return
    if (this.#at === 0 && !this.#first && !this.#rest) {
      this.#first = buffer
    } else if (this.#takesRoom(buffer.length)) {
      this.#at = putBytes(outputRoom.bytes, this.#at, buffer)
    } else {
      this.#addRest(buffer)
    }
  }

  /** One payload as one chunk of a chunked body. */
  addChunk(pieces: readonly Buffer[]): void {
    let length = 0
    for (const piece of pieces) length += piece.length
    // An empty chunk would end the body.
    if (length === 0) return
    this.addText(length.toString(16))
    this.addText('\r\n')
    for (const piece of pieces) this.addBuffer(piece)
    this.addText('\r\n')
  }

  /** Returns false when whoever has more should wait for the drain. */
  flush(): boolean {
    const bytes = this.#at
    const first = this.#first
    const rest = this.#rest
    this.#at = 0
    this.#first = undefined
    this.#rest = undefined
    if (rest) return this.#output.writeGathered(bytes > 0 ? [Buffer.from(outputRoom.first(bytes)), ...rest] : rest)
    if (first) return this.#output.write(first)
    return bytes > 0 ? this.#output.write(outputRoom.first(bytes)) : !this.#output.needsDrain
  }

  /** Whether so much more goes into the room, behind what is there. */
  #takesRoom(bytes: number): boolean {
    if (this.#rest) return false
    const holder = OutputBatch.#holder
    if (holder !== this) {
      if (holder) holder.#leaveRoom()
      OutputBatch.#holder = this
    }
    const first = this.#first
    if (!first) return this.#at + bytes <= roomBytes
    this.#first = undefined
    if (first.length + bytes <= roomBytes) {
      outputRoom.bytes.set(first, 0)
      this.#at = first.length
      return true
    }
    this.#rest = [first]
    return false
  }

  #leaveRoom(): void {
    if (this.#at === 0) return
    this.#rest = [Buffer.from(outputRoom.first(this.#at)), ...(this.#rest ?? [])]
    this.#at = 0
  }

  #addRest(part: string | Buffer): void {
    if (this.#rest) this.#rest.push(part)
    else this.#rest = [part]
  }
}
