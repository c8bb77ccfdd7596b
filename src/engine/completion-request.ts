import { z } from 'zod'
import { SluiceError } from '../foundation/errors.ts'
import type { ChatMessage, Sampling, SamplingDefaults } from './language-model.ts'
import { type RequestKind, refuseUnsupported } from './supported-parameters.ts'

/** A request as both generating endpoints understand it, its prompt apart. */
export interface CompletionRequest {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly stop: readonly string[]
  readonly maxTokens: number | undefined
  readonly sampling: (defaults: SamplingDefaults, randomSeed: () => number) => Sampling
}

export interface ChatRequest extends CompletionRequest {
  readonly messages: readonly ChatMessage[]
}

export interface TextRequest extends CompletionRequest {
  readonly prompt: string
}

export interface TokenizeRequest {
  readonly model: string | undefined
  readonly input: { readonly messages: readonly ChatMessage[] } | { readonly prompt: string; readonly special: boolean }
}

const stopStrings = z.array(z.string().min(1).max(500)).max(16)

const shared = {
  model: z.string(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish(),
      include_obfuscation: z.literal(false).nullish(),
      continuous_usage_stats: z.literal(false).nullish(),
    })
    .nullish(),
  user: z.string().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.number().int().min(-1).max(1_000_000).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  seed: z.number().int().min(-0x8000_0000).max(0xffff_ffff).nullish(),
  stop: z.union([z.string().min(1).max(500), stopStrings]).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  repetition_penalty: z.number().gt(0).max(2).nullish(),
}

const textParts = z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))
const content = z.union([z.string(), textParts])
// What an answer of ours carries must be accepted when a client sends it back as history.
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal(['system', 'developer', 'user']), content }),
  z.strictObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z.array(z.unknown()).max(0).nullish(),
    refusal: z.null().optional(),
  }),
])
const messages = z.array(message).min(1)

const chatBody = z.object({ ...shared, messages, max_completion_tokens: z.number().int().min(1).nullish() })
const textBody = z.object({ ...shared, prompt: z.union([z.string(), z.array(z.string()).length(1)]) })
const tokenizeBody = z.union([
  z.object({ model: z.string().nullish(), messages }),
  z.object({ model: z.string().nullish(), prompt: z.string(), add_special_tokens: z.boolean().nullish() }),
])

export function parseChatRequest(body: unknown): ChatRequest {
  const parsed = parse('chat', chatBody, body)
  return {
    ...toRequest(parsed),
    maxTokens: parsed.max_completion_tokens ?? parsed.max_tokens ?? undefined,
    messages: parsed.messages.map(toChatMessage),
  }
}

export function parseTextRequest(body: unknown): TextRequest {
  const parsed = parse('completion', textBody, body)
  const [prompt = ''] = Array.isArray(parsed.prompt) ? parsed.prompt : [parsed.prompt]
  return { ...toRequest(parsed), prompt }
}

export function parseTokenizeRequest(body: unknown): TokenizeRequest {
  const parsed = parse('tokenize', tokenizeBody, body)
  const input =
    'messages' in parsed
      ? { messages: parsed.messages.map(toChatMessage) }
      : { prompt: parsed.prompt, special: parsed.add_special_tokens ?? true }
  return { model: parsed.model ?? undefined, input }
}

function parse<T>(kind: RequestKind, schema: z.ZodType<T>, body: unknown): T {
  const object = z.record(z.string(), z.unknown()).safeParse(body)
  if (!object.success) throw new SluiceError('invalid_request', { reason: 'The request body must be a JSON object.' })
  refuseUnsupported(kind, object.data)
  const parsed = schema.safeParse(object.data)
  if (parsed.success) return parsed.data
  const issue = deepestIssue(parsed.error.issues)
  const param = issue ? formatPath(issue.path) : ''
  throw new SluiceError('invalid_request', { reason: `${param || 'body'}: ${issue?.message ?? 'invalid'}.`, param })
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Of a value that fits none of several shapes, the complaint that came furthest says most. */
function deepestIssue(issues: readonly z.core.$ZodIssue[], prefix: readonly PropertyKey[] = []): Issue | undefined {
  let deepest: Issue | undefined
  for (const issue of issues) {
    const path = [...prefix, ...issue.path]
    const nested = issue.code === 'invalid_union' ? issue.errors.map((branch) => deepestIssue(branch, path)) : []
    const candidates = [{ path, message: issue.message }, ...nested].filter((candidate) => candidate !== undefined)
    for (const candidate of candidates) if (!deepest || candidate.path.length > deepest.path.length) deepest = candidate
  }
  return deepest
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text && '.'}${String(key)}`),
    '',
  )
}

function toRequest(body: z.infer<z.ZodObject<typeof shared>>): CompletionRequest {
  const stop = body.stop ?? []
  if (body.stream_options && !body.stream) {
    throw new SluiceError('invalid_request', {
      reason: 'stream_options is only for streamed answers; set stream to true.',
      param: 'stream_options',
    })
  }
  if ((body.repetition_penalty ?? 1) !== 1 && (body.presence_penalty || body.frequency_penalty)) {
    throw new SluiceError('unsupported_parameter', {
      param: 'repetition_penalty',
      reason: 'this engine does not combine it with presence_penalty or frequency_penalty',
    })
  }
  return {
    model: body.model,
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    stop: typeof stop === 'string' ? [stop] : stop,
    maxTokens: body.max_tokens ?? undefined,
    sampling: (defaults, randomSeed) => ({
      temperature: body.temperature ?? defaults.temperature,
      topP: body.top_p ?? defaults.topP,
      topK: Math.max(0, body.top_k ?? defaults.topK),
      minP: body.min_p ?? defaults.minP,
      seed: body.seed === null || body.seed === undefined ? randomSeed() : body.seed >>> 0,
      presencePenalty: body.presence_penalty ?? 0,
      frequencyPenalty: body.frequency_penalty ?? 0,
      repetitionPenalty:
        body.repetition_penalty ?? (body.presence_penalty || body.frequency_penalty ? 1 : defaults.repetitionPenalty),
    }),
  }
}

function toChatMessage({ role, content }: z.infer<typeof message>): ChatMessage {
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('\n')
  return { role: role === 'developer' ? 'system' : role, content: text }
}
