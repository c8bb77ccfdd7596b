import { asError } from '../../foundation/errors.ts'
import { JsonScanner } from './json-scanner.ts'
import type { SlicedTask, TurnWork } from './turn-work.ts'

/** Bytes scanned at a time: a millisecond or two of work. */
const stepBytes = 65_536

/** Scans a large body in slices, over several turns of the event loop, while it arrives or afterwards. */
export class SlicedJson implements SlicedTask {
  readonly #scanner: JsonScanner
  readonly #work: TurnWork
  /** Pieces not scanned yet: those from `#next` on, the first of them from `#at` on. */
  #pieces: Buffer[] = []
  #next = 0
  #at = 0
  #isAdded = false
  #isWhole = false
  readonly #end = Promise.withResolvers<JsonScanner>()
  /** Why it is not JSON, once that is known. */
  failure: Error | undefined

  constructor(work: TurnWork, options: { readonly checksTexts: boolean }) {
    this.#work = work
    this.#scanner = new JsonScanner(options)
    // The result may have no listener.
    this.#end.promise.catch(() => {})
  }

  push(piece: Buffer): void {
    if (this.failure) return
    this.#pieces.push(piece)
    this.#ask()
  }

  /** The whole body was pushed. */
  finish(): Promise<JsonScanner> {
    this.#isWhole = true
    this.#ask()
    return this.#end.promise
  }

  /** The result is no longer wanted. */
  abandon(): void {
    this.#pieces = []
    this.#next = 0
    this.#at = 0
  }

  step(): boolean {
    try {
      if (!this.failure) this.#scan()
      if (this.#next < this.#pieces.length) return true
      if (this.#isWhole && !this.failure) {
        this.#scanner.finish()
        this.#end.resolve(this.#scanner)
      }
    } catch (error) {
      this.failure = asError(error)
      this.#end.reject(this.failure)
    }
    this.abandon()
    this.#isAdded = false
    return false
  }

  #scan(): void {
    let room = stepBytes
    while (room > 0) {
      const piece = this.#pieces[this.#next]
      if (!piece) return
      const end = Math.min(piece.length, this.#at + room)
      this.#scanner.push(piece.subarray(this.#at, end))
      room -= end - this.#at
      this.#at = end
      if (end < piece.length) return
      this.#next++
      this.#at = 0
    }
  }

  #ask(): void {
    if (this.#isAdded) return
    this.#isAdded = true
    this.#work.add(this)
  }
}
