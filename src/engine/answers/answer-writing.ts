import type { ServerResponse } from 'node:http'
import {
  type AnswerHead,
  type AnswerShape,
  type TokenCounts,
  type WholeChoice,
  tokensComment,
} from './answer-shapes.ts'
import type { CompletionRequest } from '../requests/completion-request.ts'
import { EventStream } from '../http/event-stream.ts'
import type { Ending, GenerationEvent, TokenLogprob, ToolCall } from '../llama/language-model.ts'

/** Figures collected while a request is answered, for the log line and the metrics at its end. */
export interface AnswerRecord {
  promptTokens: number
  reusedTokens: number
  completionTokens: number
  firstTokenAt: number | undefined
}

/** One answer that is being generated, and its index among the answers to the request. */
export interface Choice {
  readonly index: number
  readonly events: AsyncGenerator<GenerationEvent, void, undefined>
  /** Resolves when it has got a seat and its computation begins. */
  readonly seated: Promise<void>
}

/** What all answers of a request have in common. */
interface Answered {
  readonly request: CompletionRequest
  readonly shape: AnswerShape
  readonly record: AnswerRecord
}

type Write = (
  answered: Answered,
  head: AnswerHead,
  choices: readonly Choice[],
  response: ServerResponse,
  signal: AbortSignal,
) => Promise<void>

export const writeWhole: Write = async ({ shape, record }, head, choices, response) => {
  const written = await Promise.all(choices.map(collect))
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(shape.whole(head, written, countsOf(record))))
}

async function collect({ index, events }: Choice): Promise<WholeChoice> {
  let text = ''
  let ending: Ending = { finishReason: 'length', stopReason: null }
  let logprobs: TokenLogprob[] | undefined
  const toolCalls: ToolCall[] = []
  for await (const event of events) {
    if (event.type === 'end') ending = event
    else if (event.type === 'tool_call') toolCalls.push(event.call)
    else {
      text += event.text
      if (event.logprobs) (logprobs ??= []).push(...event.logprobs)
    }
  }
  return { index, text, toolCalls, logprobs, ending }
}

export const writeStreamed: Write = async ({ shape, request, record }, head, choices, response, signal) => {
  // The stream begins only once an answer has a seat, so that a request without one gets an error status and not a
  // broken stream.
  const begun = choices.map((choice) => ({ choice, first: choice.events.next() }))
  await Promise.race(begun.flatMap(({ choice, first }) => [choice.seated, first]))
  const stream = new EventStream(response, signal)
  await Promise.all(begun.map(({ choice, first }) => streamChoice(shape, head, choice, first, stream)))
  if (request.includeUsage) await stream.send(shape.usage(head, countsOf(record)))
  // The gateway counts tokens for every client, also for those that have not asked for them.
  else await stream.sendComment(tokensComment(countsOf(record)))
  await stream.send('[DONE]')
  response.end()
}

async function streamChoice(
  shape: AnswerShape,
  head: AnswerHead,
  { index, events }: Choice,
  first: Promise<IteratorResult<GenerationEvent, void>>,
  stream: EventStream,
): Promise<void> {
  const opening = shape.opening(head, index)
  if (opening) await stream.send(opening)
  let textSoFar = 0
  let toolIndex = 0
  for (let step = await first; !step.done; step = await events.next()) {
    const event = step.value
    if (event.type === 'tool_call') {
      await stream.send(shape.piece(head, index, { toolCall: event.call, toolIndex: toolIndex++ }, textSoFar))
    } else if (event.type === 'end') {
      await stream.send(shape.piece(head, index, { ending: event }, textSoFar))
    } else {
      await stream.send(shape.piece(head, index, { text: event.text, logprobs: event.logprobs }, textSoFar))
      textSoFar += event.text.length
    }
  }
}

function countsOf({ promptTokens, completionTokens }: AnswerRecord): TokenCounts {
  return { promptTokens, completionTokens }
}
