import type { AttachedImage } from '../attachments/attached-image.ts'
import type { Failure } from '../protocol/failure.ts'

export interface UserMessage {
  readonly role: 'user'
  readonly id: string
  /** The message that it follows; null for a first one. */
  readonly parentId: string | null
  readonly content: string
  readonly images: readonly AttachedImage[]
}

export type AnswerStatus = 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'

export interface AnswerStats {
  readonly firstTokenMs: number
  /** From the first piece of text to the last; the model's speed is measured over this time. */
  readonly generationMs: number
  readonly completionTokens: number | null
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly id: string
  /** The question that it answers; null until it has a place in a conversation. */
  readonly parentId: string | null
  readonly model: string
  readonly content: string
  /** Reasoning that the engine sends separately. `<think>` inside the content stays there. */
  readonly reasoning: string
  readonly status: AnswerStatus
  readonly askedAt: number
  /** Whether the model was asleep when it was asked, or the gateway said that it is waking it. */
  readonly woke: boolean
  readonly wakingDetail: string
  /** When the gateway last said that the model is still waking. */
  readonly wakingHeardAt: number
  readonly failure: Failure | null
  readonly stats: AnswerStats | null
  /** Whether the answer was ended by the length limit. */
  readonly cutShort: boolean
}

export type Message = UserMessage | AssistantMessage

export interface Conversation {
  readonly id: string
  readonly title: string
  readonly model: string
  readonly updatedAt: number
  /** All that were ever written, those of other branches as well, each after the one it follows. */
  readonly messages: readonly Message[]
  /** The last message of the branch that is shown. */
  readonly leafId: string
}

export const MAX_CONVERSATIONS = 50
export const MAX_MESSAGES = 200
export const MAX_QUESTION_CHARACTERS = 100_000
export const MAX_ANSWER_CHARACTERS = 500_000

export function isRunning(message: Message): boolean {
  return message.role === 'assistant' && (message.status === 'waiting' || message.status === 'streaming')
}

export function newAnswer(id: string, model: string, askedAt: number, woke: boolean): AssistantMessage {
  return {
    role: 'assistant',
    id,
    parentId: null,
    model,
    content: '',
    reasoning: '',
    status: 'waiting',
    askedAt,
    woke,
    wakingDetail: '',
    wakingHeardAt: 0,
    failure: null,
    stats: null,
    cutShort: false,
  }
}

export function titleOf(question: string): string {
  const line = question.trim().replace(/\s+/g, ' ')
  return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line
}
