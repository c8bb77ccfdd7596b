import { isRecord, parseJson } from '../../../src/protocol/json-value.ts'
import { asShape } from './as-shape.ts'
import { ModelSender } from './model-sender.ts'
import { Refusal } from './refusal.ts'

const prefix = './api/console/v1/'

export interface Sending {
  readonly method?: 'POST' | 'PUT' | 'DELETE'
  readonly body?: unknown
  /** Sent as they are, instead of a body. */
  readonly bytes?: Blob
  readonly signal?: AbortSignal
}

/** The console's API. What it returns has the shapes of `console-shapes.ts`: one build serves the page and the API. */
export class ConsoleApi {
  readonly liveUrl = `${prefix}live`
  /** Goes on while other pages of the console are shown. */
  readonly sender = new ModelSender(this)
  /** Called when the server says that nobody is logged in here. */
  onLoggedOut: () => void = () => {}

  async ask<T>(path: string, sending: Sending = {}): Promise<T> {
    const response = await this.#send(path, sending)
    const answer = parseJson(await response.text())
    if (!response.ok) throw this.#refusal(path, response.status, answer)
    return asShape<T>(isRecord(answer) ? answer['data'] : undefined)
  }

  /** The text of an answer as it comes, until it ends or the signal is aborted. */
  async *follow(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.#send(path, { signal })
    if (!response.ok || !response.body) {
      throw this.#refusal(path, response.status, parseJson(await response.text()))
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  }

  async #send(path: string, { method, body, bytes, signal }: Sending): Promise<Response> {
    try {
      return await fetch(`${prefix}${path}`, {
        method: method ?? 'GET',
        // Pages of other origins cannot send it; the server asks for it before anything is changed.
        headers: { 'x-sluice-console': '1', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body: bytes ?? (body === undefined ? null : JSON.stringify(body)),
        signal: signal ?? null,
      })
    } catch (error) {
      if (signal?.aborted) throw error
      throw new Refusal(0, 'Sluice does not answer. This page tries again by itself.')
    }
  }

  #refusal(path: string, status: number, answer: unknown): Refusal {
    if (status === 401 && path !== 'session') this.onLoggedOut()
    const message = isRecord(answer) && typeof answer['msg'] === 'string' ? answer['msg'] : `The answer was ${status}.`
    return new Refusal(status, message)
  }
}
