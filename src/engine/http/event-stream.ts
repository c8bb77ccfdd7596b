import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { SluiceError } from '../../foundation/errors.ts'

/**
 * A client that reads nothing for this long counts as gone, even if its connection is open: others wait for its seat.
 */
const unreadDeadlineMs = 60_000

/**
 * Sends server-sent events to a client that may read slowly: each write waits until the client has read what was sent
 * before.
 */
export class EventStream {
  readonly #response: ServerResponse
  readonly #signal: AbortSignal

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response
    this.#signal = signal
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    response.flushHeaders()
  }

  send(event: object | '[DONE]'): Promise<void> {
    return this.#write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  }

  /** Clients skip it; who looks at the bytes on their way can read it. */
  sendComment(text: string): Promise<void> {
    return this.#write(`: ${text}\n\n`)
  }

  async #write(text: string): Promise<void> {
    this.#signal.throwIfAborted()
    if (this.#response.write(text)) return
    const overdue = AbortSignal.timeout(unreadDeadlineMs)
    try {
      await once(this.#response, 'drain', { signal: AbortSignal.any([this.#signal, overdue]) })
    } catch (error) {
      if (!overdue.aborted) throw error
      this.#response.destroy()
      throw new SluiceError('client_gone')
    }
  }
}
