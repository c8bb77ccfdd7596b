import { SluiceError } from '../../foundation/errors.ts'
import { requestLimits } from '../http/request-limits.ts'

type Body = Readonly<Record<string, unknown>>

/** More than this many are not listed. */
const mostIgnored = 32

/** Whether the value of an unsupported parameter has no effect, so that it can be accepted. */
type AsksForNothing = (value: unknown) => boolean

const is =
  (...neutral: readonly unknown[]): AsksForNothing =>
  (value) =>
    neutral.includes(value)
const isEmpty: AsksForNothing = (value) =>
  Array.isArray(value)
    ? value.length === 0
    : typeof value === 'object' && value !== null && Object.keys(value).length === 0

interface Unsupported {
  readonly reason: string
  readonly neutral: AsksForNothing
}

const noFunctions = 'this engine knows tools, not the older functions'
const wholeTurn = 'an answer is always a turn of its own'

const common: Record<string, Unsupported> = {
  best_of: { reason: 'this engine gives every answer it writes; use n', neutral: is(1) },
  use_beam_search: { reason: 'this engine samples', neutral: is(false) },
  prompt_logprobs: { reason: 'this engine reports no log probabilities of the prompt', neutral: is() },
  length_penalty: { reason: 'this engine samples, it does not search beams', neutral: is(1) },
  min_tokens: { reason: 'an answer ends where the model ends it', neutral: is(0) },
  stop_token_ids: { reason: 'this engine stops at texts; use stop', neutral: isEmpty },
  include_stop_str_in_output: { reason: 'an answer ends before its stop string', neutral: is(false) },
  skip_special_tokens: { reason: 'special tokens are never part of an answer', neutral: is(true) },
  spaces_between_special_tokens: { reason: 'special tokens are never part of an answer', neutral: is(true) },
  truncate_prompt_tokens: { reason: 'a prompt is taken whole or refused', neutral: is(-1) },
}

const chat: Record<string, Unsupported> = {
  ...common,
  prompt: { reason: 'plain texts are for /v1/completions', neutral: is() },
  functions: { reason: noFunctions, neutral: isEmpty },
  function_call: { reason: noFunctions, neutral: is('none', 'auto') },
  modalities: { reason: 'this engine answers in text', neutral: isTextOnly },
  audio: { reason: 'this engine answers in text', neutral: is() },
  echo: { reason: 'the prompt is not repeated', neutral: is(false) },
  add_generation_prompt: { reason: wholeTurn, neutral: is(true) },
  continue_final_message: { reason: wholeTurn, neutral: is(false) },
  web_search_options: { reason: 'this engine answers out of the model alone', neutral: is() },
  chat_template_kwargs: { reason: 'the chat template takes nothing from requests', neutral: isEmpty },
}

const completion: Record<string, Unsupported> = {
  ...common,
  messages: { reason: 'conversations are for /v1/chat/completions', neutral: is() },
  suffix: { reason: 'this engine only continues a text', neutral: is('') },
}

const embedding: Record<string, Unsupported> = {
  dimensions: { reason: 'a vector has the length that the model gives it', neutral: is() },
  truncate_prompt_tokens: { reason: 'an input is taken whole or refused', neutral: is(-1) },
}

const generating = names(
  'model stream stream_options n temperature top_p top_k min_p seed stop max_tokens ignore_eos presence_penalty',
  'frequency_penalty repetition_penalty logit_bias logprobs response_format',
)
/** Parameters that say who asks, not what for. */
const labels = names('user metadata safety_identifier prompt_cache_key request_id')

export type RequestKind = 'chat' | 'completion' | 'embedding' | 'tokenize' | 'detokenize'

const supported: Record<RequestKind, ReadonlySet<string>> = {
  chat: new Set([
    ...generating,
    ...labels,
    ...names('messages max_completion_tokens top_logprobs tools tool_choice parallel_tool_calls'),
  ]),
  completion: new Set([...generating, ...labels, 'prompt', 'echo']),
  embedding: new Set(['model', 'input', 'encoding_format', ...labels]),
  tokenize: new Set(['model', 'prompt', 'messages', 'add_special_tokens', 'return_token_strs']),
  detokenize: new Set(['model', 'tokens']),
}

const unsupported: Record<RequestKind, Readonly<Record<string, Unsupported>>> = {
  chat,
  completion,
  embedding,
  tokenize: { add_generation_prompt: { reason: wholeTurn, neutral: is(true) } },
  detokenize: {},
}

/** Values of parameters that nobody has to be told about: they ask for what happens anyway. */
const asks: Readonly<Record<string, AsksForNothing>> = {
  store: is(false),
  service_tier: is('auto', 'default'),
  priority: is(0),
}

/** Refuses every parameter by name that would make another answer and is not honoured. */
export function refuseUnsupported(kind: RequestKind, body: Body): void {
  for (const [param, value] of Object.entries(body)) {
    const known = Object.hasOwn(unsupported[kind], param) ? unsupported[kind][param] : undefined
    if (!known || !isSet(value) || known.neutral(value)) continue
    throw new SluiceError('unsupported_parameter', { param, reason: known.reason })
  }
}

/** The parameters of a request that have no effect: nobody here knows them, and the answer is the same without. */
export function ignoredParameters(kind: RequestKind, body: Body): readonly string[] {
  const ignored = Object.entries(body).flatMap(([param, value]) => {
    if (!isSet(value) || supported[kind].has(param) || Object.hasOwn(unsupported[kind], param)) return []
    return Object.hasOwn(asks, param) && asks[param]?.(value) ? [] : [param]
  })
  return kind === 'chat' ? [...ignored, ...ignoredOfMessages(body['messages'])] : ignored
}

const messageFields: ReadonlySet<string> = new Set(
  names('role content tool_calls tool_call_id refusal audio function_call annotations'),
)

function ignoredOfMessages(messages: unknown): readonly string[] {
  // Longer lists are refused by those who read them.
  if (!Array.isArray(messages) || messages.length > requestLimits.messages) return []
  const found = new Set<string>()
  for (const message of messages) {
    if (typeof message !== 'object' || message === null) continue
    for (const [name, value] of Object.entries(message)) {
      const ofTool = name === 'name' && Reflect.get(message, 'role') === 'tool'
      if (isSet(value) && !ofTool && !messageFields.has(name)) found.add(`messages.${name}`)
    }
    if (found.size > mostIgnored) break
  }
  return [...found]
}

/** Clients send null for "not set". */
function isSet(value: unknown): boolean {
  return value !== null && value !== undefined
}

function isTextOnly(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => item === 'text')
}

function names(...lists: readonly string[]): string[] {
  return lists.flatMap((list) => list.split(' '))
}
