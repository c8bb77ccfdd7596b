import { SluiceError } from '../../foundation/errors.ts'

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
  store: { reason: 'nothing is kept', neutral: is(false) },
  service_tier: { reason: 'there is one tier here', neutral: is('auto', 'default') },
  priority: { reason: 'requests are served in the order they come', neutral: is(0) },
}

const chat: Record<string, Unsupported> = {
  ...common,
  functions: { reason: noFunctions, neutral: isEmpty },
  function_call: { reason: noFunctions, neutral: is('none', 'auto') },
  modalities: { reason: 'this engine answers in text', neutral: isTextOnly },
  audio: { reason: 'this engine answers in text', neutral: is() },
  echo: { reason: 'the prompt is not repeated', neutral: is(false) },
  add_generation_prompt: { reason: wholeTurn, neutral: is(true) },
  continue_final_message: { reason: wholeTurn, neutral: is(false) },
  chat_template_kwargs: { reason: 'the chat template takes nothing from requests', neutral: isEmpty },
}

const completion: Record<string, Unsupported> = {
  ...common,
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

/** Refuses every parameter that the engine would not honour, by name: none is silently ignored. */
export function refuseUnsupported(kind: RequestKind, body: Readonly<Record<string, unknown>>): void {
  for (const [param, value] of Object.entries(body)) {
    // Clients send null for "not set".
    if (value === null || value === undefined || supported[kind].has(param)) continue
    const known = Object.hasOwn(unsupported[kind], param) ? unsupported[kind][param] : undefined
    if (known?.neutral(value)) continue
    throw new SluiceError('unsupported_parameter', { param, reason: known?.reason ?? 'this engine does not know it' })
  }
}

function isTextOnly(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => item === 'text')
}

function names(...lists: readonly string[]): string[] {
  return lists.flatMap((list) => list.split(' '))
}
