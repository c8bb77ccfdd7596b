import type { Writable } from 'node:stream'

/** What may wait for a client that takes it slowly. */
const mostWaiting = 2 ** 20

/**
 * Shows a client what a container says. Who takes it too slowly misses some of it, and is told how much; the container
 * never waits.
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
    // It is in memory that is used again.
    target.write(Buffer.from(said))
  }
}
