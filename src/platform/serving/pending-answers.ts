import type { Clock } from '../../foundation/clock.ts'

/** Questions to another thread. Each gets one answer: the thread's, or `undefined` at the deadline. */
export class PendingAnswers<T> {
  readonly #clock: Clock
  readonly #deadlineMs: number
  readonly #pending = new Map<number, (answer: T | undefined) => void>()
  #lastId = 0

  constructor(options: { readonly clock: Clock; readonly deadlineMs: number }) {
    this.#clock = options.clock
    this.#deadlineMs = options.deadlineMs
  }

  ask(send: (id: number) => void): Promise<T | undefined> {
    return new Promise((resolve) => {
      const id = ++this.#lastId
      const cancel = this.#clock.after(this.#deadlineMs, () => this.answer(id, undefined))
      this.#pending.set(id, (answer) => {
        cancel()
        resolve(answer)
      })
      send(id)
    })
  }

  answer(id: number, answer: T | undefined): void {
    const settle = this.#pending.get(id)
    this.#pending.delete(id)
    settle?.(answer)
  }

  /** Answers every open question with `undefined`, since the other thread has ended. */
  giveUp(): void {
    for (const id of this.#pending.keys()) this.answer(id, undefined)
  }
}
