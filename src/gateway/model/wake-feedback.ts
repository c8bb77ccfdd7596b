import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Exchange, HeaderPairs, ResponseStream } from '../../relay/exchange.ts'
import type { CatalogModel } from '../../traffic/model-catalog.ts'

export interface WakeFeedbackOptions {
  readonly exchange: Exchange
  readonly clock: Clock
  readonly headers: HeaderPairs
  /** Since when its client waits. */
  readonly startedAt: number
  readonly afterMs: number
  readonly everyMs: number
  /** What to say; it is asked anew each time. */
  readonly describe: (waitedMs: number) => string
}

/**
 * Tells a client of an event stream that its request waits: after a moment the response begins, and comments follow, so
 * that nothing in between takes the silence for a dead connection. Once begun, `stream` is where everything else goes.
 */
export class WakeFeedback {
  readonly #options: WakeFeedbackOptions
  #cancel: CancelTimer | undefined
  #stream: ResponseStream | undefined

  constructor(options: WakeFeedbackOptions) {
    this.#options = options
  }

  get stream(): ResponseStream | undefined {
    return this.#stream
  }

  /** Gives feedback for as long as the work takes. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#schedule(this.#stream ? this.#options.everyMs : this.#options.afterMs)
    try {
      return await work
    } finally {
      this.#cancel?.()
      this.#cancel = undefined
    }
  }

  #schedule(ms: number): void {
    this.#cancel = this.#options.clock.after(ms, () => this.#tell())
  }

  #tell(): void {
    const { exchange, clock, startedAt, everyMs, describe } = this.#options
    if (exchange.signal.aborted) return
    this.#stream ??= exchange.startResponse(200, [...this.#options.headers, ...eventStreamHeaders])
    this.#schedule(everyMs)
    // Comments are small and at most one a second; a client that takes none is cut by the relay's own deadline.
    this.#stream.write(`: ${oneLine(describe(clock.now() - startedAt))}\n\n`).catch(() => this.#cancel?.())
  }
}

const eventStreamHeaders: HeaderPairs = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-cache'],
  ['x-accel-buffering', 'no'],
]

export function wakeComment(name: string, model: CatalogModel | undefined, waitedMs: number): string {
  const phase = model?.phase ?? 'Asleep'
  const message = model?.message?.replace(/\.$/, '') ?? ''
  const state = message === '' || message.startsWith(phase) ? message || phase : `${phase}, ${message}`
  return `waking ${name}: ${state}, ${Math.floor(waitedMs / 1000)} s`
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}
