import { Writable } from 'node:stream'
import type { Clock } from '../../foundation/clock.ts'

/** The kubelet keeps as much of a probe's output. */
const mostBytes = 10 * 2 ** 10
/** Output beyond that is read slowly, so that a program that never stops writing is held up, not we. */
const pauseMs = 10

/** Keeps the beginning of what is written to it and discards the rest. */
export class OutputStart extends Writable {
  readonly #clock: Clock
  #text = ''

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  get text(): string {
    return this.#text.trim()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#text.length >= mostBytes) return void this.#clock.after(pauseMs, done)
    this.#text = (this.#text + chunk.toString()).slice(0, mostBytes)
    done()
  }
}
