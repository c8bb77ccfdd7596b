import { type MarkBoard, markText } from '../../foundation/loop-marks.ts'

export type LoopBoardShape = SharedArrayBuffer

const turnsCell = 0
const lengthCell = 1
const headBytes = 8
const textBytes = 256

/**
 * Shared memory in which one event loop shows other threads that it turns, and what it began last: while it is stuck,
 * it cannot say so itself. A text that is read while it is being written may be garbled; it is only for people.
 */
export class LoopBoard implements MarkBoard {
  readonly shape: LoopBoardShape
  readonly #cells: Int32Array
  readonly #text: Buffer

  constructor(shape: LoopBoardShape = new SharedArrayBuffer(headBytes + textBytes)) {
    this.shape = shape
    this.#cells = new Int32Array(shape, 0, 2)
    this.#text = Buffer.from(shape, headBytes, textBytes)
  }

  turned(): void {
    Atomics.add(this.#cells, turnsCell, 1)
  }

  get turns(): number {
    return Atomics.load(this.#cells, turnsCell)
  }

  show(what: string, subject: string): void {
    let length = this.#text.write(what, 0, 'latin1')
    if (length < textBytes) this.#text[length++] = 0x20
    length += this.#text.write(subject, length, 'latin1')
    Atomics.store(this.#cells, lengthCell, length)
  }

  /** What began last; empty if nothing has. */
  get lastBegun(): string {
    const text = this.#text.toString('latin1', 0, Atomics.load(this.#cells, lengthCell))
    return markText('', text.replaceAll(/[^\x20-\x7e]/g, '·'))
  }
}
