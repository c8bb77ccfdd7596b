/** Does a bounded piece of work. Answers whether there is more of it. Never throws. */
export type LogTurn = () => Promise<boolean>

const chunkBytes = 64 * 2 ** 10

/**
 * Lets the logs of a node be collected in turns: one piece of one log at a time, whoever has more after it goes to the
 * end of the line. However much a Pod writes, what collecting it costs everybody else at once is one piece.
 */
export class LogTurns {
  /** What a turn reads into: there is only one at a time. */
  readonly chunk: Buffer = Buffer.allocUnsafe(chunkBytes)
  readonly #waiting = new Set<LogTurn>()
  #running = false

  /** It has its turn soon; asked for again before that, it has one all the same. */
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
