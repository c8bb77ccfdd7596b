/** Does a bounded piece of work and returns whether there is more. Never throws. */
export type LogTurn = () => Promise<boolean>

const chunkBytes = 64 * 2 ** 10

/**
 * Collects the logs of a node in turns: one piece of one log at a time, then the next log. However much one Pod writes,
 * the others never wait for more than one piece.
 */
export class LogTurns {
  /** The buffer that turns read into; there is only one turn at a time. */
  readonly chunk: Buffer = Buffer.allocUnsafe(chunkBytes)
  readonly #waiting = new Set<LogTurn>()
  #running = false

  /** Queues a turn. Asking again before it begins changes nothing. */
  request(turn: LogTurn): void {
    this.#waiting.add(turn)
    if (this.#running) return
    this.#running = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    for (;;) {
      const [turn] = this.#waiting
      if (!turn) break
      this.#waiting.delete(turn)
      if (await turn()) this.#waiting.add(turn)
    }
    this.#running = false
  }
}
