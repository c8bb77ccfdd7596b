import { isRecord, numberOf, parseJson, textOf } from '../protocol/json-value.ts'
import {
  MAX_MESSAGES,
  newAnswer,
  type AnswerStats,
  type AssistantMessage,
  type Conversation,
  type Message,
} from './conversation.ts'

const FORMAT = 1

export function encodeConversation(conversation: Conversation): string {
  return JSON.stringify({ format: FORMAT, ...conversation })
}

/**
 * Reads a stored conversation. What another version or a user has left there is checked; undefined when it is not
 * valid.
 */
export function decodeConversation(text: string): Conversation | undefined {
  const value = parseJson(text)
  if (!isRecord(value) || value['format'] !== FORMAT) return undefined
  const id = textOf(value['id'])
  if (id === '' || !Array.isArray(value['messages'])) return undefined
  const messages = value['messages'].slice(-MAX_MESSAGES).flatMap((message: unknown) => decodeMessage(message) ?? [])
  if (messages.length === 0) return undefined
  return {
    id,
    title: textOf(value['title']) || 'Untitled',
    model: textOf(value['model']),
    updatedAt: numberOf(value['updatedAt']) ?? 0,
    messages,
  }
}

function decodeMessage(value: unknown): Message | undefined {
  if (!isRecord(value)) return undefined
  const id = textOf(value['id'])
  if (id === '') return undefined
  if (value['role'] === 'user') return { role: 'user', id, content: textOf(value['content']) }
  if (value['role'] !== 'assistant') return undefined
  const failure = isRecord(value['failure']) ? value['failure'] : undefined
  const answer: AssistantMessage = {
    ...newAnswer(id, textOf(value['model']), numberOf(value['askedAt']) ?? 0, value['woke'] === true),
    content: textOf(value['content']),
    reasoning: textOf(value['reasoning']),
    stats: decodeStats(value['stats']),
    cutShort: value['cutShort'] === true,
  }
  if (failure !== undefined) {
    return {
      ...answer,
      status: 'failed',
      failure: { message: textOf(failure['message']), code: textOf(failure['code']) },
    }
  }
  // An answer that was still running when the page was closed does not continue.
  return { ...answer, status: value['status'] === 'done' ? 'done' : 'stopped' }
}

function decodeStats(value: unknown): AnswerStats | null {
  if (!isRecord(value)) return null
  const firstTokenMs = numberOf(value['firstTokenMs'])
  const generationMs = numberOf(value['generationMs'])
  if (firstTokenMs === undefined || generationMs === undefined) return null
  return { firstTokenMs, generationMs, completionTokens: numberOf(value['completionTokens']) ?? null }
}
