/** Work that can be done in small parts. */
export interface SlicedTask {
  /** Does one small part; returns true if there is more to do. */
  step(): boolean
}

/** How long one turn of the event loop may be used for all tasks together. */
const mostMsPerTurn = 4

/**
 * Runs long tasks in small parts: in each turn of the event loop as many parts as fit into a few milliseconds, the
 * tasks taking turns; then everything else gets the loop.
 */
export class TurnWork {
  readonly #now: () => number
  #tasks: SlicedTask[] = []
  #isAwaited = false
  /** How many turns were used, and how many parts were done. */
  turns = 0
  steps = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Add a task again only after its `step` returned false. */
  add(task: SlicedTask): void {
    this.#tasks.push(task)
    this.#await()
  }

  #await(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#isAwaited = false
    this.turns++
    const endsAt = this.#now() + mostMsPerTurn
    do {
      const tasks = this.#tasks
      this.#tasks = []
      for (let at = 0; at < tasks.length; at++) {
        const task = tasks[at]
        this.steps++
        if (task?.step() === true) this.#tasks.push(task)
        if (this.#now() < endsAt) continue
        this.#tasks = [...tasks.slice(at + 1), ...this.#tasks]
        break
      }
    } while (this.#tasks.length > 0 && this.#now() < endsAt)
    if (this.#tasks.length > 0) this.#await()
  }
}
