import { randomInt, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { AnswerHead, AnswerShape, Finish, TokenCounts } from './answer-shapes.ts'
import type { CompletionRequest } from './completion-request.ts'
import { EventStream } from './event-stream.ts'
import type { GenerationEvent, LanguageModel, Prompt } from './language-model.ts'

/** Filled while a request is answered, for the log line and the metrics at its end. */
export interface AnswerRecord {
  promptTokens: number
  reusedTokens: number
  completionTokens: number
  firstTokenAt: number | undefined
}

export interface Answering {
  readonly model: LanguageModel
  readonly request: CompletionRequest
  readonly prompt: Prompt
  readonly shape: AnswerShape
  /** Used when the request sets no limit; without it, whatever the context has room for. */
  readonly defaultMaxTokens: number | undefined
  readonly clock: Clock
  readonly record: AnswerRecord
}

/** Generates the answer to one request and writes it, whole or streamed. */
export async function answerRequest(
  answering: Answering,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const { model, request, prompt, shape, clock, record } = answering
  const maxTokens = decideMaxTokens({
    promptTokens: prompt.tokens.length,
    requested: request.maxTokens,
    fallback: answering.defaultMaxTokens,
    contextLength: model.contextLength,
  })
  record.promptTokens = prompt.tokens.length
  const head = {
    id: `${shape.idPrefix}${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(clock.now() / 1000),
    model: request.model,
  }
  const seat = await model.reserve(prompt, signal)
  try {
    record.reusedTokens = seat.reusedTokens
    const sampling = request.sampling(model.samplingDefaults, () => randomInt(0xffff_ffff))
    const events = seat.generate({ sampling, stop: request.stop, maxTokens }, signal)
    const write = request.stream ? writeStreamed : writeWhole
    await write(answering, head, observe(events, clock, record), response, signal)
  } finally {
    seat.release()
  }
}

/** How many tokens the answer may have. The prompt and the answer share the model's context. */
export function decideMaxTokens(input: {
  promptTokens: number
  requested: number | undefined
  fallback: number | undefined
  contextLength: number
}): number {
  const { promptTokens, requested, fallback, contextLength } = input
  if (promptTokens === 0) throw new SluiceError('invalid_request', { reason: 'The prompt is empty.', param: 'prompt' })
  const room = contextLength - promptTokens
  if (room < 1 || (requested ?? 1) > room) {
    throw new SluiceError('context_length_exceeded', { tokens: promptTokens + (requested ?? 1), limit: contextLength })
  }
  return requested ?? Math.min(fallback ?? room, room)
}

async function* observe(
  events: AsyncGenerator<GenerationEvent, void, undefined>,
  clock: Clock,
  record: AnswerRecord,
): AsyncGenerator<GenerationEvent, void, undefined> {
  for await (const event of events) {
    record.completionTokens = event.completionTokens
    if (event.type === 'text') record.firstTokenAt ??= clock.now()
    yield event
  }
}

type Write = (
  answering: Answering,
  head: AnswerHead,
  events: AsyncIterable<GenerationEvent>,
  response: ServerResponse,
  signal: AbortSignal,
) => Promise<void>

const writeWhole: Write = async ({ shape, record }, head, events, response) => {
  let text = ''
  let finish: Finish = { finishReason: 'length', stopReason: null }
  for await (const event of events) {
    if (event.type === 'text') text += event.text
    else finish = event
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(shape.whole(head, text, finish, countsOf(record))))
}

const writeStreamed: Write = async ({ shape, request, record }, head, events, response, signal) => {
  const stream = new EventStream(response, signal)
  const opening = shape.opening(head)
  if (opening) await stream.send(opening)
  for await (const event of events) {
    await stream.send(event.type === 'text' ? shape.piece(head, event.text) : shape.closing(head, event))
  }
  if (request.includeUsage) await stream.send(shape.usage(head, countsOf(record)))
  await stream.send('[DONE]')
  response.end()
}

function countsOf({ promptTokens, completionTokens }: AnswerRecord): TokenCounts {
  return { promptTokens, completionTokens }
}
