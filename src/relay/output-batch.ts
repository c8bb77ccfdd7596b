import { roomBytes, type SocketOutput } from './socket-output.ts'

/**
 * Gathers what goes out in one turn of the event loop, so that a head and a small body leave in one write. Almost everything
 * is the beginning of a head that is ready, a text, a buffer and a text (a head and a body; a chunk in its framing): these have
 * places of their own.
 */
export class OutputBatch {
  readonly #output: SocketOutput
  #head: Buffer | undefined
  #before = ''
  #middle: Buffer | undefined
  #after = ''
  #rest: Array<string | Buffer> | undefined
  #restBytes = 0

  constructor(output: SocketOutput) {
    this.#output = output
  }

  /** The beginning of a head; what follows in it is text. */
  addHead(bytes: Buffer): void {
    if (this.#head || this.#before !== '' || this.#middle) this.addBuffer(bytes)
    else this.#head = bytes
  }

  /** Latin-1: heads and framing. */
  addText(text: string): void {
    if (this.#rest) this.#addRest(text)
    else if (this.#middle) this.#after += text
    else this.#before += text
  }

  addBuffer(buffer: Buffer): void {
    if (this.#middle) this.#addRest(buffer)
    else this.#middle = buffer
  }

  /** One payload as one chunk of a chunked body. */
  addChunk(pieces: readonly Buffer[]): void {
    let length = 0
    for (const piece of pieces) length += piece.length
    // An empty chunk would end the body.
    if (length === 0) return
    this.addText(`${length.toString(16)}\r\n`)
    for (const piece of pieces) this.addBuffer(piece)
    this.addText('\r\n')
  }

  /** Returns false when whoever has more should wait for the drain. */
  flush(): boolean {
    const before = this.#before
    const middle = this.#middle
    const head = this.#head
    const after = this.#after
    const rest = this.#rest
    const headBytes = head ? head.length : 0
    const middleBytes = middle ? middle.length : 0
    const bytes = headBytes + before.length + middleBytes + after.length + this.#restBytes
    if (bytes === 0) return !this.#output.needsDrain
    this.#head = undefined
    this.#before = ''
    this.#middle = undefined
    this.#after = ''
    this.#rest = undefined
    this.#restBytes = 0
    if (middle && bytes === middleBytes) return this.#output.write(middle)
    if (bytes > roomBytes) {
      return this.#output.writeGathered([head ?? '', before, middle ?? '', after, ...(rest ?? [])])
    }
    const joined = this.#output.roomFor(bytes)
    if (head) joined.set(head, 0)
    if (before !== '') joined.write(before, headBytes, 'latin1')
    let at = headBytes + before.length
    if (middle) joined.set(middle, at)
    at += middleBytes
    if (after !== '') {
      joined.write(after, at, 'latin1')
      at += after.length
    }
    if (rest) copyParts(rest, joined, at)
    return this.#output.write(joined)
  }

  #addRest(part: string | Buffer): void {
    if (this.#rest) this.#rest.push(part)
    else this.#rest = [part]
    this.#restBytes += part.length
  }
}

function copyParts(parts: ReadonlyArray<string | Buffer>, into: Buffer, start: number): void {
  let at = start
  for (const part of parts) {
    if (typeof part === 'string') into.write(part, at, 'latin1')
    else into.set(part, at)
    at += part.length
  }
}
