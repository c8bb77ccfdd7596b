import { failureFromBody, type Failure } from './failure.ts'
import { isRecord, numberOf, parseJson, textOf, type JsonRecord } from './json-value.ts'
import type { SseFrame } from './sse-parser.ts'
import { wakingDetail } from './waking-comment.ts'

export type ChatEvent =
  | { kind: 'waking'; detail: string }
  | { kind: 'text'; content: string; reasoning: string }
  | { kind: 'usage'; completionTokens: number }
  | { kind: 'finish'; reason: string }
  | { kind: 'failure'; failure: Failure }
  | { kind: 'end' }

/** The events in one frame of a streamed chat completion. What is unknown is ignored. */
export function chatEventsOf(frame: SseFrame, model: string): ChatEvent[] {
  if (frame.kind === 'comment') {
    const detail = wakingDetail(frame.text, model)
    return detail === undefined ? [] : [{ kind: 'waking', detail }]
  }
  if (frame.data.trim() === '[DONE]') return [{ kind: 'end' }]
  const value = parseJson(frame.data)
  const failure = failureFromBody(value)
  if (failure !== undefined) return [{ kind: 'failure', failure }]
  if (frame.event === 'error') return [{ kind: 'failure', failure: failureOfErrorEvent(value, frame.data) }]
  return isRecord(value) ? completionEvents(value) : []
}

/** The events of a chunk (`delta`) or a whole completion (`message`), since an engine may ignore `stream`. */
export function completionEvents(value: JsonRecord): ChatEvent[] {
  const events: ChatEvent[] = []
  const choice: unknown = Array.isArray(value['choices']) ? value['choices'][0] : undefined
  if (isRecord(choice)) {
    const part = isRecord(choice['delta']) ? choice['delta'] : choice['message']
    if (isRecord(part)) {
      const content = textOf(part['content'])
      const reasoning = textOf(part['reasoning_content']) || textOf(part['reasoning'])
      if (content !== '' || reasoning !== '') events.push({ kind: 'text', content, reasoning })
    }
    const reason = textOf(choice['finish_reason'])
    if (reason !== '') events.push({ kind: 'finish', reason })
  }
  if (isRecord(value['usage'])) {
    const completionTokens = numberOf(value['usage']['completion_tokens'])
    if (completionTokens !== undefined) events.push({ kind: 'usage', completionTokens })
  }
  return events
}

function failureOfErrorEvent(value: unknown, data: string): Failure {
  // Some servers put the fields of the error directly into the data of the event.
  const told = failureFromBody({ error: isRecord(value) ? value : data })
  return told ?? { message: 'The server ended the answer with an error.', code: '' }
}
