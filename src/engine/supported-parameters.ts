import { SluiceError } from '../foundation/errors.ts'

/** Says whether a value of a parameter that is not supported asks for nothing, so that it may pass. */
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

const noTools = 'this engine does not call tools'
const noLogprobs = 'this engine does not report log probabilities'

const common: Record<string, Unsupported> = {
  n: { reason: 'this engine writes one answer per request', neutral: is(1) },
  best_of: { reason: 'this engine writes one answer per request', neutral: is(1) },
  use_beam_search: { reason: 'this engine samples', neutral: is(false) },
  logit_bias: { reason: 'this engine takes no token biases', neutral: isEmpty },
  prompt_logprobs: { reason: noLogprobs, neutral: is() },
  response_format: { reason: 'this engine answers in plain text only', neutral: isPlainText },
  ignore_eos: { reason: 'an answer ends where the model ends it', neutral: is(false) },
  echo: { reason: 'the prompt is not repeated', neutral: is(false) },
  store: { reason: 'nothing is kept', neutral: is(false) },
}

const chat: Record<string, Unsupported> = {
  ...common,
  logprobs: { reason: noLogprobs, neutral: is(false) },
  top_logprobs: { reason: noLogprobs, neutral: is(0) },
  tools: { reason: noTools, neutral: isEmpty },
  tool_choice: { reason: noTools, neutral: is('none', 'auto') },
  parallel_tool_calls: { reason: noTools, neutral: is(true, false) },
  functions: { reason: noTools, neutral: isEmpty },
  function_call: { reason: noTools, neutral: is('none', 'auto') },
  modalities: { reason: 'this engine answers in text', neutral: isTextOnly },
  add_generation_prompt: { reason: 'an answer is always a turn of its own', neutral: is(true) },
  continue_final_message: { reason: 'an answer is always a turn of its own', neutral: is(false) },
}

const completion: Record<string, Unsupported> = {
  ...common,
  logprobs: { reason: noLogprobs, neutral: is() },
  suffix: { reason: 'this engine only continues a text', neutral: is('') },
}

const sampling = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'stop',
  'max_tokens',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
]

export type RequestKind = 'chat' | 'completion' | 'tokenize'

const supported: Record<RequestKind, ReadonlySet<string>> = {
  chat: new Set(['model', 'messages', 'stream', 'stream_options', 'user', 'max_completion_tokens', ...sampling]),
  completion: new Set(['model', 'prompt', 'stream', 'stream_options', 'user', ...sampling]),
  tokenize: new Set(['model', 'prompt', 'messages', 'add_special_tokens']),
}

const unsupported: Record<RequestKind, Readonly<Record<string, Unsupported>>> = { chat, completion, tokenize: {} }

/** What the engine would not honour it refuses, by name: a parameter is never silently ignored. */
export function refuseUnsupported(kind: RequestKind, body: Readonly<Record<string, unknown>>): void {
  for (const [param, value] of Object.entries(body)) {
    // null is how clients spell "not set".
    if (value === null || value === undefined || supported[kind].has(param)) continue
    const known = Object.hasOwn(unsupported[kind], param) ? unsupported[kind][param] : undefined
    if (known?.neutral(value)) continue
    throw new SluiceError('unsupported_parameter', { param, reason: known?.reason ?? 'this engine does not know it' })
  }
}

function isPlainText(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'text'
}

function isTextOnly(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => item === 'text')
}
