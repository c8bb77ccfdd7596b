import type { ServerResponse } from 'node:http'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import type { LiveItems } from './live-items.ts'

export interface LiveStreamOptions {
  readonly response: ServerResponse
  readonly items: LiveItems
  readonly clock: Clock
}

const beatMs = 15_000
/** A client that has taken nothing for this long is cut off. */
const longestBlockMs = 30_000

/** One browser's stream of changes (server-sent events). Holds no more than what the socket has not taken yet. */
export class LiveStream {
  readonly #options: LiveStreamOptions
  #sent = 0
  #blockedSince: number | undefined
  #cancelBeat: CancelTimer = () => {}

  constructor(options: LiveStreamOptions) {
    this.#options = options
    const { response } = options
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Some proxies would otherwise collect what is to be seen at once.
      'x-accel-buffering': 'no',
    })
    response.on('drain', () => {
      this.#blockedSince = undefined
      this.tell()
    })
    response.on('close', () => this.#cancelBeat())
    this.tell()
    this.#scheduleBeat()
  }

  /** Sends what has changed, unless the client has yet to take what was sent before. */
  tell(): void {
    const { items, response } = this.#options
    if (
      response.writableEnded ||
      this.#blockedSince !== undefined ||
      (this.#sent !== 0 && this.#sent === items.revision)
    )
      return
    const { revision, isWhole, changed, removed } = items.since(this.#sent)
    this.#sent = revision
    this.#write(`event: ${isWhole ? 'whole' : 'change'}\ndata: ${JSON.stringify({ changed, removed })}\n\n`)
  }

  #write(text: string): void {
    const { response, clock } = this.#options
    if (!response.write(text)) this.#blockedSince ??= clock.now()
  }

  #scheduleBeat(): void {
    this.#cancelBeat = this.#options.clock.after(beatMs, () => this.#beat())
  }

  #beat(): void {
    const { response, clock } = this.#options
    if (this.#blockedSince !== undefined && clock.now() - this.#blockedSince >= longestBlockMs) {
      response.destroy()
      return
    }
    if (this.#blockedSince === undefined && !response.writableEnded) this.#write(': still there\n\n')
    this.#scheduleBeat()
  }
}
