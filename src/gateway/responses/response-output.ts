import { randomBytes } from 'node:crypto'
import type { Fields } from './request-fields.ts'

/** What is said of an answer's tokens. */
export interface ResponseUsage {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** An item of a response's output while it grows. */
export type OutputItem =
  | { readonly kind: 'message'; readonly id: string; text: string; readonly logprobs: unknown[] }
  | { readonly kind: 'reasoning'; readonly id: string; text: string }
  | {
      readonly kind: 'call'
      readonly id: string
      readonly callId: string
      readonly name: string
      /** Which of the engine's calls it is. */
      readonly index: number
      text: string
    }

export function newId(prefix: string): string {
  return prefix + randomBytes(24).toString('hex')
}

export function itemObject(item: OutputItem, status: ItemStatus): Fields {
  switch (item.kind) {
    case 'message':
    case 'reasoning': {
      const content = item.text === '' ? [] : [partObject(item)]
      const fields = { id: item.id, type: item.kind, status, content }
      return item.kind === 'message' ? { ...fields, role: 'assistant' } : { ...fields, summary: [] }
    }
    case 'call': {
      const { id, callId, name, text } = item
      return { id, type: 'function_call', status, arguments: text, call_id: callId, name }
    }
    default:
      return item satisfies never
  }
}

/** The one part of an item's content. */
export function partObject(item: Exclude<OutputItem, { kind: 'call' }>, text = item.text): Fields {
  if (item.kind === 'reasoning') return { type: 'reasoning_text', text }
  return { type: 'output_text', annotations: [], logprobs: text === '' ? [] : item.logprobs, text }
}

/** The usage that an engine reports for a chat completion, as a response has it. */
export function responseUsage(usage: unknown): ResponseUsage | null {
  if (typeof usage !== 'object' || usage === null) return null
  const input = count(usage, 'prompt_tokens')
  const output = count(usage, 'completion_tokens')
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: count(Reflect.get(usage, 'prompt_tokens_details'), 'cached_tokens') },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: count(Reflect.get(usage, 'completion_tokens_details'), 'reasoning_tokens'),
    },
    total_tokens: input + output,
  }
}

function count(value: unknown, name: string): number {
  const number: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return typeof number === 'number' && number >= 0 ? number : 0
}
