import { z } from 'zod'
import { messagesField, toChatMessages } from './chat-request.ts'
import type { ChatMessage } from '../llama/language-model.ts'
import { parseBody } from '../http/request-body.ts'
import { tokenList } from './text-request.ts'

export interface TokenizeRequest {
  readonly model: string | undefined
  readonly input: { readonly messages: readonly ChatMessage[] } | { readonly prompt: string; readonly special: boolean }
  /** Whether to return the text of each token as well. */
  readonly withTexts: boolean
}

export interface DetokenizeRequest {
  readonly model: string | undefined
  readonly tokens: readonly number[]
}

const shared = { model: z.string().nullish(), return_token_strs: z.boolean().nullish() }
const tokenizeBody = z.union([
  z.object({ ...shared, messages: messagesField }),
  z.object({ ...shared, prompt: z.string(), add_special_tokens: z.boolean().nullish() }),
])
const detokenizeBody = z.object({ model: z.string().nullish(), tokens: tokenList })

export function parseTokenizeRequest(body: unknown): TokenizeRequest {
  const parsed = parseBody('tokenize', tokenizeBody, body)
  const input =
    'messages' in parsed
      ? { messages: toChatMessages(parsed.messages) }
      : { prompt: parsed.prompt, special: parsed.add_special_tokens ?? true }
  return { model: parsed.model ?? undefined, input, withTexts: parsed.return_token_strs ?? false }
}

export function parseDetokenizeRequest(body: unknown): DetokenizeRequest {
  const { model, tokens } = parseBody('detokenize', detokenizeBody, body)
  return { model: model ?? undefined, tokens }
}
