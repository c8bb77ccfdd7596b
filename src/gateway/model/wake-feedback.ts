import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Exchange, HeaderPairs, ResponseStream } from '../../relay/exchange.ts'
import type { CatalogModel } from '../../traffic/model-catalog.ts'
import { eventStreamHeaders } from './event-stream-body.ts'

export interface WakeFeedbackOptions {
  readonly exchange: Exchange
  readonly clock: Clock
  readonly headers: HeaderPairs
  /** When the client began to wait. */
  readonly startedAt: number
  readonly afterMs: number
  readonly everyMs: number
  /** The text of the next comment. */
  readonly describe: (waitedMs: number) => string
}

/**
 * Keeps a streaming client informed while its request waits: after a moment the response begins, and comments follow,
 * so that proxies do not take the silence for a dead connection. Everything after that goes to `stream`.
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

  /** Gives feedback until the work is done. */
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
    // Comments are small and rare; a client that does not read is cut off by the relay's deadline.
    this.#stream.write(`: ${oneLine(describe(clock.now() - startedAt))}\n\n`).catch(() => this.#cancel?.())
  }
}

export function wakeComment(
  name: string,
  model: CatalogModel | undefined,
  waitedMs: number,
  obstacle?: string,
): string {
  const phase = model?.phase ?? 'Asleep'
  const message = (phase === 'Asleep' ? obstacle : undefined) ?? model?.message?.replace(/\.$/, '') ?? ''
  const state = message === '' || message.startsWith(phase) ? message || phase : `${phase}, ${message}`
  return `waking ${name}: ${state}, ${Math.floor(waitedMs / 1000)} s`
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}
