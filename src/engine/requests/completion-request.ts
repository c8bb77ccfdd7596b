import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import type { AnswerFormat, Sampling, SamplingDefaults } from '../llama/language-model.ts'
import { requestLimits } from '../http/request-limits.ts'

/** What the two generating endpoints have in common in a request; only the prompts differ. */
export interface CompletionRequest {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly stop: readonly string[]
  readonly maxTokens: number | undefined
  readonly ignoreEnd: boolean
  /** How many answers to each prompt. */
  readonly choices: number
  /** How many alternatives to report for each token; undefined reports no probabilities. */
  readonly logprobs: number | undefined
  readonly format: AnswerFormat | undefined
  readonly sampling: (defaults: SamplingDefaults, randomSeed: () => number) => Sampling
}

const mostChoices = 16
const stopStrings = z.array(z.string().min(1).max(500)).max(requestLimits.stop)
const jsonObject = z.record(z.string(), z.unknown())

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string().nullish(),
      description: z.string().nullish(),
      schema: jsonObject,
      strict: z.boolean().nullish(),
    }),
  }),
])

/** The fields of a body that both endpoints read in the same way. */
export const sharedFields = {
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
  metadata: z.record(z.string(), z.string()).nullish(),
  n: z.number().int().min(1).max(mostChoices).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.number().int().min(-1).max(1_000_000).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  seed: z.number().int().min(-0x8000_0000).max(0xffff_ffff).nullish(),
  stop: z.union([z.string().min(1).max(500), stopStrings]).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  ignore_eos: z.boolean().nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  repetition_penalty: z.number().gt(0).max(2).nullish(),
  logit_bias: z
    .record(z.string().regex(/^\d{1,9}$/, 'must be a token number'), z.number().min(-100).max(100))
    .nullish(),
  response_format: responseFormat.nullish(),
}

type SharedBody = z.infer<z.ZodObject<typeof sharedFields>>

export function toCompletionRequest(body: SharedBody, logprobs: number | undefined): CompletionRequest {
  const stop = body.stop ?? []
  if (body.stream_options && !body.stream) {
    throw new SluiceError('invalid_request', {
      reason: 'stream_options is only for streamed answers; set stream to true.',
      param: 'stream_options',
    })
  }
  const format = toFormat(body.response_format)
  if (format && logprobs !== undefined) {
    throw new SluiceError('unsupported_parameter', {
      param: 'logprobs',
      reason: 'this engine does not report log probabilities of an answer that response_format constrains',
    })
  }
  return {
    model: body.model,
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    stop: typeof stop === 'string' ? [stop] : stop,
    maxTokens: body.max_tokens ?? undefined,
    ignoreEnd: body.ignore_eos ?? false,
    choices: body.n ?? 1,
    logprobs,
    format,
    sampling: (defaults, randomSeed) => toSampling(body, defaults, randomSeed),
  }
}

function toSampling(body: SharedBody, defaults: SamplingDefaults, randomSeed: () => number): Sampling {
  return {
    temperature: body.temperature ?? defaults.temperature,
    topP: body.top_p ?? defaults.topP,
    topK: Math.max(0, body.top_k ?? defaults.topK),
    minP: body.min_p ?? defaults.minP,
    seed: body.seed === null || body.seed === undefined ? randomSeed() : body.seed >>> 0,
    presencePenalty: body.presence_penalty ?? 0,
    frequencyPenalty: body.frequency_penalty ?? 0,
    repetitionPenalty: body.repetition_penalty ?? defaults.repetitionPenalty,
    logitBias: new Map(Object.entries(body.logit_bias ?? {}).map(([token, bias]) => [Number(token), bias])),
  }
}

function toFormat(format: SharedBody['response_format']): AnswerFormat | undefined {
  if (!format || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  return { type: 'json_schema', schema: format.json_schema.schema, param: 'response_format.json_schema.schema' }
}
