import { Writable } from 'node:stream'
import type { Clock } from '../../foundation/clock.ts'

/** As much as the kubelet keeps of what a probe says. */
const mostBytes = 10 * 2 ** 10
/** What nobody keeps is taken slowly: a program that never stops talking waits for us, not we for it. */
const pauseMs = 10

/** Keeps the beginning of what is written to it, and takes the rest without keeping it. */
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
