/** What is worked on a little at a time. */
export interface SlicedTask {
  /** Does a small part of it; returns whether there is more to do. */
  step(): boolean
}

/** What one turn of the event loop may be kept with, for all tasks together. */
const mostMsPerTurn = 4

/**
 * Work that may take long, done in turns: each task's next part in its turn, as many of them as take a few
 * milliseconds, then everybody else who waits for the event loop.
 */
export class TurnWork {
  readonly #now: () => number
  #tasks: SlicedTask[] = []
  #isAwaited = false
  /** How often the loop was kept, and how many parts were done. */
  turns = 0
  steps = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A task is added again only after its `step` has returned false. */
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
