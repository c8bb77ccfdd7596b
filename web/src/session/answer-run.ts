import { MAX_ANSWER_CHARACTERS, type AnswerStats } from '../conversation/conversation.ts'
import type { ChatAction } from '../conversation/conversation-reducer.ts'
import type { ChatEvent } from '../protocol/chat-event.ts'
import { AnswerError, type Failure } from '../protocol/failure.ts'

export interface AnswerRun {
  address: { conversationId: string; answerId: string }
  events: AsyncIterable<ChatEvent>
  dispatch: (action: ChatAction) => void
  /** Milliseconds of a clock that never goes backwards, for durations. */
  monotonicNow: () => number
  wallNow: () => number
  signal: AbortSignal
}

const CUT_OFF: Failure = { message: 'The connection ended before the answer was complete.', code: 'incomplete' }
const TOO_LONG: Failure = { message: 'The answer is longer than this page can hold.', code: 'too_long' }
const BROKEN: Failure = { message: 'Something went wrong in this page.', code: 'page_error' }

/**
 * Turns the events of one answer into actions. The answer always ends as finished, stopped or failed; never rejects.
 */
export async function runAnswer({
  address,
  events,
  dispatch,
  monotonicNow,
  wallNow,
  signal,
}: AnswerRun): Promise<void> {
  const clock = new AnswerClock(monotonicNow)
  const fail = (failure: Failure) => dispatch({ type: 'failed', ...address, failure, stats: clock.stats() })
  let characters = 0
  let finishReason = ''
  let ended = false
  try {
    for await (const event of events) {
      // What was still arriving when Stop was pressed is not shown.
      if (signal.aborted) break
      switch (event.kind) {
        case 'waking':
          dispatch({ type: 'waking', ...address, detail: event.detail, now: wallNow() })
          break
        case 'text':
          clock.textCame()
          characters += event.content.length + event.reasoning.length
          dispatch({ type: 'received', ...address, content: event.content, reasoning: event.reasoning })
          if (characters > MAX_ANSWER_CHARACTERS) return fail(TOO_LONG)
          break
        case 'usage':
          clock.completionTokens = event.completionTokens
          break
        case 'finish':
          finishReason = event.reason
          break
        case 'failure':
          return fail(event.failure)
        case 'end':
          ended = true
          break
      }
      if (ended) break
    }
    if (signal.aborted) dispatch({ type: 'stopped', ...address, stats: clock.stats() })
    else if (!ended && finishReason === '') fail(CUT_OFF)
    else dispatch({ type: 'finished', ...address, stats: clock.stats(), cutShort: finishReason === 'length' })
  } catch (error) {
    if (signal.aborted) dispatch({ type: 'stopped', ...address, stats: clock.stats() })
    else fail(error instanceof AnswerError ? error.failure : BROKEN)
  }
}

class AnswerClock {
  completionTokens: number | null = null
  readonly #now: () => number
  readonly #asked: number
  #first: number | undefined
  #last = 0

  constructor(now: () => number) {
    this.#now = now
    this.#asked = now()
  }

  textCame(): void {
    this.#last = this.#now()
    this.#first ??= this.#last
  }

  stats(): AnswerStats | null {
    if (this.#first === undefined) return null
    return {
      firstTokenMs: Math.round(this.#first - this.#asked),
      generationMs: Math.round(this.#last - this.#first),
      completionTokens: this.completionTokens,
    }
  }
}
