import type { Socket } from 'node:net'

/** Up to this much, copying into one buffer is cheaper than a gathered write. */
const copyLimitBytes = 32_768

/** Gathers what goes out in one turn of the event loop, so that a head and a small body leave in one write. */
export class OutputBatch {
  readonly #socket: Socket
  #parts: Array<string | Buffer> = []
  #bytes = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Strings are Latin-1: heads and framing. */
  add(part: string | Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
  }

  /** One payload as one chunk of a chunked body. */
  addChunk(pieces: readonly Buffer[]): void {
    let length = 0
    for (const piece of pieces) length += piece.length
    // An empty chunk would end the body.
    if (length === 0) return
    this.add(`${length.toString(16)}\r\n`)
    for (const piece of pieces) this.add(piece)
    this.add('\r\n')
  }

  /** Returns false when the socket asks to wait for its `drain`. */
  flush(): boolean {
    const parts = this.#parts
    const first = parts[0]
    if (first === undefined) return !this.#socket.writableNeedDrain
    this.#parts = []
    const bytes = this.#bytes
    this.#bytes = 0
    if (parts.length === 1) return writePart(this.#socket, first)
    if (bytes <= copyLimitBytes) return this.#socket.write(joinParts(parts, bytes))
    this.#socket.cork()
    let room = true
    for (const part of parts) room = writePart(this.#socket, part)
    this.#socket.uncork()
    return room
  }
}

function writePart(socket: Socket, part: string | Buffer): boolean {
  return typeof part === 'string' ? socket.write(part, 'latin1') : socket.write(part)
}

function joinParts(parts: ReadonlyArray<string | Buffer>, bytes: number): Buffer {
  const joined = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const part of parts) {
    if (typeof part === 'string') joined.write(part, at, 'latin1')
    else joined.set(part, at)
    at += part.length
  }
  return joined
}
