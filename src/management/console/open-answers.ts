import type { ServerResponse } from 'node:http'
import type { Clock } from '../../foundation/clock.ts'

/** How soon an answer ends after its reader may not read any more. */
const lookEveryMs = 15_000

/** Answers that go on: streams of changes, and logs. */
export class OpenAnswers {
  readonly #clock: Clock
  readonly #endings = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(response: ServerResponse, stop: AbortController, mayGoOn: () => boolean): void {
    const end = () => {
      stop.abort(new Error('the answer is ended'))
      response.end()
    }
    let cancel = () => {}
    const look = () => {
      cancel = this.#clock.after(lookEveryMs, () => (mayGoOn() ? look() : end()))
    }
    look()
    this.#endings.add(end)
    response.on('close', () => {
      cancel()
      this.#endings.delete(end)
    })
  }

  endAll(): void {
    for (const end of this.#endings) end()
  }
}
