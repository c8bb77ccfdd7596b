import { chatEventsOf, completionEvents, type ChatEvent } from '../protocol/chat-event.ts'
import { AnswerError, failureFromBody, failureFromResponse } from '../protocol/failure.ts'
import { isRecord, parseJson } from '../protocol/json-value.ts'
import { SseParser } from '../protocol/sse-parser.ts'
import type { RequestMessage } from '../conversation/request-messages.ts'

export interface ChatRequest {
  model: string
  messages: RequestMessage[]
  temperature: number | null
  /** The headers that authenticate the request, if needed. */
  authorization: Record<string, string>
}

/** Longer than the gateway's own wake deadline: it is for connections that died silently. */
const SILENCE_MS = 10 * 60_000

/**
 * Sends the request and yields events until the end of the answer. Throws AnswerError, or the signal's reason when it
 * is aborted.
 */
export async function* streamAnswer(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent, void> {
  const silence = new SilenceWatch(SILENCE_MS)
  try {
    const response = await post(request, AbortSignal.any([signal, silence.signal]))
    silence.heard()
    if (!response.ok) throw new AnswerError(failureFromResponse(response.status, await response.text()))
    if (response.headers.get('content-type')?.startsWith('application/json')) {
      yield* wholeAnswer(await response.text())
      return
    }
    if (response.body === null) return
    const parser = new SseParser()
    const decoder = new TextDecoder()
    const reader = response.body.getReader()
    try {
      for (;;) {
        const { value, done } = await reader.read()
        silence.heard()
        const frames = done ? parser.end() : parser.push(decoder.decode(value, { stream: true }))
        for (const frame of frames) yield* chatEventsOf(frame, request.model)
        if (done) return
      }
    } finally {
      // If the consumer stops early, the server must not go on generating for nobody.
      await reader.cancel().catch(() => undefined)
    }
  } catch (error) {
    if (signal.aborted || error instanceof AnswerError) throw error
    throw new AnswerError(silence.signal.aborted ? SILENT : lost(error), { cause: error })
  } finally {
    silence.end()
  }
}

const SILENT = { message: 'Nothing was heard from the gateway for ten minutes.', code: 'silent' }

function lost(error: unknown) {
  if (error instanceof RangeError) return { message: error.message, code: 'too_large' }
  return { message: 'The connection to the gateway failed.', code: 'connection_failed' }
}

function post(request: ChatRequest, signal: AbortSignal): Promise<Response> {
  const { model, messages, temperature, authorization } = request
  return fetch('openai/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...authorization },
    body: JSON.stringify({
      model,
      messages,
      ...(temperature === null ? {} : { temperature }),
      stream: true,
      stream_options: { include_usage: true },
    }),
    signal,
  })
}

function* wholeAnswer(body: string): Generator<ChatEvent> {
  const value = parseJson(body)
  const failure = failureFromBody(value)
  if (failure !== undefined) throw new AnswerError(failure)
  if (isRecord(value)) yield* completionEvents(value)
  yield { kind: 'end' }
}

class SilenceWatch {
  readonly #controller = new AbortController()
  readonly #limitMs: number
  #timer: ReturnType<typeof setTimeout>

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#timer = this.#arm()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  heard(): void {
    clearTimeout(this.#timer)
    this.#timer = this.#arm()
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #arm(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#controller.abort(), this.#limitMs)
  }
}
