import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { parseBody } from '../http/request-body.ts'
import { type TextInput, inputsField, toInputs } from './text-request.ts'

export interface EmbeddingRequest {
  readonly model: string
  readonly inputs: readonly TextInput[]
  readonly encoding: 'float' | 'base64'
}

const embeddingBody = z.object({
  model: z.string(),
  input: inputsField,
  encoding_format: z.literal(['float', 'base64']).nullish(),
  user: z.string().nullish(),
})

export function parseEmbeddingRequest(body: unknown): EmbeddingRequest {
  const parsed = parseBody('embedding', embeddingBody, body)
  const inputs = toInputs(parsed.input)
  if (inputs.includes(''))
    throw new SluiceError('invalid_request', { reason: 'input: an input is empty.', param: 'input' })
  return { model: parsed.model, inputs, encoding: parsed.encoding_format ?? 'float' }
}
