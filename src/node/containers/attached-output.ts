import type { Writable } from 'node:stream'

/** How many bytes may be buffered for a slow client. */
const mostWaiting = 2 ** 20

/**
 * Sends a container's output to an attached client. The container never waits: a client that reads too slowly misses
 * some output and is told how much.
 */
export class AttachedOutput {
  readonly #target: Writable | undefined
  #missed = 0

  constructor(target: Writable | undefined) {
    this.#target = target
  }

  show(said: Buffer): void {
    const target = this.#target
    if (!target || target.destroyed || target.writableEnded) return
    if (target.writableLength > mostWaiting) {
      this.#missed += said.length
      return
    }
    if (this.#missed > 0) target.write(`\r\n... ${this.#missed} bytes were not shown: they came too fast ...\r\n`)
    this.#missed = 0
    // Copied, because the collector reuses its buffer.
    target.write(Buffer.from(said))
  }
}
