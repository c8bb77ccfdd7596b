import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { type CompletionRequest, sharedFields, toCompletionRequest } from './completion-request.ts'
import { parseBody } from '../http/request-body.ts'

/** A text, or the tokens of one. */
export type TextInput = string | readonly number[]

export interface TextRequest extends CompletionRequest {
  readonly prompts: readonly TextInput[]
  /** Whether the answer is to begin with the prompt. */
  readonly echo: boolean
}

const mostAnswers = 64
/** Checked as a whole, without an error for each item, because there may be many. */
export const tokenList = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0),
  'must be a list of token numbers',
)
const tokens = tokenList.refine((list) => list.length > 0, 'must have a token')
/** One or several inputs, as texts or as tokens, for both endpoints that take raw texts. */
export const inputsField = z.union([z.string(), tokens, z.array(z.string()).min(1), z.array(tokens).min(1)])

const textBody = z.object({
  ...sharedFields,
  prompt: inputsField,
  echo: z.boolean().nullish(),
  logprobs: z.number().int().min(0).max(5).nullish(),
})

export function parseTextRequest(body: unknown): TextRequest {
  const parsed = parseBody('completion', textBody, body)
  const request = toCompletionRequest(parsed, parsed.logprobs ?? undefined)
  const prompts = toInputs(parsed.prompt)
  const echo = parsed.echo ?? false
  if (echo && request.logprobs !== undefined) {
    throw new SluiceError('unsupported_parameter', {
      param: 'echo',
      reason: 'this engine does not report log probabilities of the prompt, which echo with logprobs asks for',
    })
  }
  if (prompts.length * request.choices > mostAnswers) {
    throw new SluiceError('invalid_request', {
      reason: `prompt: ${prompts.length} prompts with ${request.choices} answers each are more than ${mostAnswers} answers.`,
      param: 'prompt',
    })
  }
  return { ...request, prompts, echo }
}

export function toInputs(value: z.infer<typeof inputsField>): readonly TextInput[] {
  if (typeof value === 'string') return [value]
  return isTokenList(value) ? [value] : value
}

function isTokenList(value: readonly TextInput[] | readonly number[]): value is readonly number[] {
  return typeof value[0] === 'number'
}
