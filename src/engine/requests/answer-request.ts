import { randomInt, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { AnswerShape } from '../answers/answer-shapes.ts'
import { type AnswerRecord, writeStreamed, writeWhole } from '../answers/answer-writing.ts'
import type { CompletionRequest } from './completion-request.ts'
import type { GenerationEvent, GenerationOptions, LanguageModel, Prompt } from '../llama/language-model.ts'

export interface Answering {
  readonly model: LanguageModel
  readonly request: CompletionRequest
  /** Each prompt with the text to put before its answers, if the request asked for the prompt to be repeated. */
  readonly prompts: readonly { readonly prompt: Prompt; readonly echo: string }[]
  readonly tools?: GenerationOptions['tools']
  readonly shape: AnswerShape
  /** The limit for requests that set none. If it is undefined, an answer may fill the context. */
  readonly defaultMaxTokens: number | undefined
  readonly clock: Clock
  readonly record: AnswerRecord
}

/** Generates the answers to one request and writes them, whole or streamed. */
export async function answerRequest(
  answering: Answering,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const { model, request, shape, clock } = answering
  for (const token of request.sampling(model.samplingDefaults, () => 0).logitBias.keys()) checkBias(model, token)
  const planned = await planChoices(answering)
  const head = {
    id: `${shape.idPrefix}${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(clock.now() / 1000),
    model: request.model,
  }
  // If one answer fails the others are ended: the client gets all of its answers or an error.
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const choices = planned.map((choice, index) => {
    const { promise: seated, resolve } = Promise.withResolvers<void>()
    return { index, seated, events: choiceEvents(answering, choice, resolve, either) }
  })
  const write = request.stream ? writeStreamed : writeWhole
  try {
    await write(answering, head, choices, response, either)
  } catch (error) {
    failed.abort(error)
    throw error
  } finally {
    await Promise.allSettled(choices.map(({ events }) => events.return()))
  }
}

interface PlannedChoice {
  readonly prompt: Prompt
  readonly options: GenerationOptions
  readonly echo: string
}

/** Everything that can be refused is refused here, before a stream begins. */
async function planChoices({
  model,
  request,
  prompts,
  tools,
  defaultMaxTokens,
  record,
}: Answering): Promise<PlannedChoice[]> {
  const constraint = request.format ? await model.constrain(request.format) : undefined
  const sampling = request.sampling(model.samplingDefaults, () => randomInt(0xffff_ffff))
  const { stop, ignoreEnd, logprobs } = request
  return prompts.flatMap(({ prompt, echo }) => {
    record.promptTokens += prompt.tokens.length
    const maxTokens = decideMaxTokens({
      promptTokens: prompt.tokens.length,
      requested: request.maxTokens,
      fallback: defaultMaxTokens,
      contextLength: model.contextLength,
    })
    return Array.from({ length: request.choices }, (_, nth) => {
      // Each answer to a prompt gets its own seed, derived from the request's seed, so that the answers differ but can
      // be repeated.
      const options = {
        sampling: { ...sampling, seed: (sampling.seed + nth) >>> 0 },
        stop,
        maxTokens,
        ignoreEnd,
        logprobs,
      }
      return { prompt, echo, options: { ...options, constraint, ...(tools ? { tools } : {}) } }
    })
  })
}

/** How many tokens the answer may have. Prompt and answer share the model's context. */
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

function checkBias(model: LanguageModel, token: number): void {
  const param = `logit_bias.${token}`
  if (token >= model.vocabularySize) {
    throw new SluiceError('invalid_request', { reason: `logit_bias: the model has no token ${token}.`, param })
  }
  if (model.isEndToken(token)) {
    throw new SluiceError('unsupported_parameter', { param, reason: 'the end of an answer cannot be biased' })
  }
}

/** Waits for a seat, then generates in it. */
async function* choiceEvents(
  { model, clock, record }: Answering,
  { prompt, options, echo }: PlannedChoice,
  onSeat: () => void,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const seat = await model.reserve(prompt, signal)
  let counted = 0
  try {
    onSeat()
    record.reusedTokens += seat.reusedTokens
    if (echo) yield { type: 'text', text: echo, completionTokens: 0 }
    for await (const event of seat.generate(options, signal)) {
      record.completionTokens += event.completionTokens - counted
      counted = event.completionTokens
      if (event.type !== 'end') record.firstTokenAt ??= clock.now()
      yield event
    }
  } finally {
    seat.release()
  }
}
