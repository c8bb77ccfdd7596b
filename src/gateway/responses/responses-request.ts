import { SluiceError } from '../../foundation/errors.ts'
import { inputMessages } from './input-messages.ts'
import { type Fields, fieldOf, invalidField, isFields, setFields, unsupportedField } from './request-fields.ts'
import { chatTools } from './response-tools.ts'

/** A request for a response, as a chat completion, and what its answer repeats of it. */
export interface TranslatedRequest {
  readonly chat: Fields
  readonly echo: Fields
  /** Names of parameters that have no effect here. */
  readonly ignored: readonly string[]
}

/** Parameters that could change what an answer is and cannot be had here, with what to do instead. */
const refused: Readonly<Record<string, { readonly unless?: readonly unknown[]; readonly reason: string }>> = {
  previous_response_id: { reason: 'nothing is stored here; send the earlier items in input' },
  conversation: { reason: 'nothing is stored here; send the earlier items in input' },
  background: { unless: [false], reason: 'nothing is stored here; set it to false, and stream: true if it takes long' },
  prompt: { reason: 'no prompts are stored here; send instructions and input' },
}

/** Parameters without effect, unless they have one of these values, which are what happens anyway. */
const withoutEffect: Readonly<Record<string, readonly unknown[]>> = {
  store: [false],
  truncation: ['disabled'],
  service_tier: ['auto', 'default'],
  max_tool_calls: [],
  prompt_cache_key: [],
  prompt_cache_retention: [],
  safety_identifier: [],
  user: [],
  stream_options: [],
}

const translated = new Set(
  (
    'model input instructions stream max_output_tokens temperature top_p top_logprobs tools tool_choice ' +
    'parallel_tool_calls text reasoning include metadata'
  ).split(' '),
)
const logprobsIncluded = 'message.output_text.logprobs'

/** Reads a body of `/v1/responses`. What it cannot do is refused by name, with what to do instead. */
export function translateRequest(text: string): TranslatedRequest {
  const body = parsedBody(text)
  const ignored: string[] = []
  for (const name of Object.keys(body)) {
    const value = fieldOf(body, name)
    if (value === undefined || translated.has(name)) continue
    const refusal = Object.hasOwn(refused, name) ? refused[name] : undefined
    if (refusal && !refusal.unless?.includes(value)) throw unsupportedField(name, refusal.reason)
    const expected = Object.hasOwn(withoutEffect, name) ? withoutEffect[name] : []
    if (!refusal && !expected?.includes(value)) ignored.push(name)
  }
  return { ...translateFields(body, ignored), ignored }
}

function parsedBody(text: string): Fields {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new SluiceError('invalid_json', { reason: 'it cannot be parsed' })
  }
  if (!isFields(body)) throw new SluiceError('invalid_json', { reason: 'it is not an object' })
  return body
}

function translateFields(body: Fields, ignored: string[]): Pick<TranslatedRequest, 'chat' | 'echo'> {
  const field = (name: string) => fieldOf(body, name)
  const instructions = optionalText(body, 'instructions')
  const { format, verbosity } = part(body, 'text')
  const { effort, summary } = part(body, 'reasoning')
  if (verbosity !== undefined && verbosity !== 'medium') ignored.push('text.verbosity')
  if (summary !== undefined) ignored.push('reasoning.summary')
  const streamed = field('stream') === true
  const tools = chatTools(field('tools'), field('tool_choice'))
  const parallel = field('parallel_tool_calls')
  const chat = setFields({
    model: field('model'),
    messages: inputMessages(instructions, field('input')),
    stream: streamed || undefined,
    // The last event of a streamed response has the usage.
    stream_options: streamed ? { include_usage: true } : undefined,
    max_tokens: field('max_output_tokens'),
    temperature: field('temperature'),
    top_p: field('top_p'),
    reasoning_effort: effort,
    response_format: responseFormat(format),
    ...logprobs(body, ignored),
    ...tools,
    parallel_tool_calls: tools.tools === undefined ? undefined : parallel,
  })
  const echo = {
    instructions: instructions ?? null,
    max_output_tokens: field('max_output_tokens') ?? null,
    metadata: field('metadata') ?? {},
    parallel_tool_calls: parallel ?? true,
    reasoning: { effort: effort ?? null, summary: null },
    temperature: field('temperature') ?? null,
    text: { format: format ?? { type: 'text' } },
    tool_choice: field('tool_choice') ?? 'auto',
    tools: field('tools') ?? [],
    top_p: field('top_p') ?? null,
  }
  return { chat, echo }
}

function optionalText(body: Fields, name: string): string | undefined {
  const value = fieldOf(body, name)
  if (value !== undefined && typeof value !== 'string') throw invalidField(name, 'must be a string')
  return value
}

/** A group of parameters. */
function part(body: Fields, name: 'text' | 'reasoning'): Fields {
  const value = fieldOf(body, name) ?? {}
  if (!isFields(value)) throw invalidField(name, 'must be an object')
  return Object.fromEntries(Object.keys(value).map((key) => [key, fieldOf(value, key)]))
}

function responseFormat(format: unknown): Fields | undefined {
  if (format === undefined) return undefined
  const type = isFields(format) ? fieldOf(format, 'type') : undefined
  if (!isFields(format) || type === undefined) throw invalidField('text.format', 'must be an object with a type')
  if (type === 'text') return undefined
  if (type === 'json_object') return { type }
  if (type !== 'json_schema') throw invalidField('text.format.type', 'must be text, json_object or json_schema')
  if (!isFields(fieldOf(format, 'schema'))) throw invalidField('text.format.schema', 'must be a JSON schema')
  const { name, schema, description, strict } = format
  return { type, json_schema: setFields({ name: name ?? 'answer', schema, description, strict: strict ?? undefined }) }
}

/** OpenAI returns log probabilities to those who ask for them by `include`, or by a number of alternatives. */
function logprobs(body: Fields, ignored: string[]): Fields {
  const include = fieldOf(body, 'include') ?? []
  if (!Array.isArray(include)) throw invalidField('include', 'must be a list')
  for (const wanted of include) if (wanted !== logprobsIncluded) ignored.push(`include.${String(wanted).slice(0, 64)}`)
  const top = fieldOf(body, 'top_logprobs')
  if (!include.includes(logprobsIncluded) && top === undefined) return {}
  return { logprobs: true, top_logprobs: top }
}
