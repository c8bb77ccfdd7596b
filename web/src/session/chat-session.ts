import type { AttachedImage } from '../attachments/attached-image.ts'
import {
  isRunning,
  MAX_QUESTION_CHARACTERS,
  newAnswer,
  type AssistantMessage,
  type Conversation,
} from '../conversation/conversation.ts'
import { shownMessages } from '../conversation/conversation-tree.ts'
import { requestMessages } from '../conversation/request-messages.ts'
import { canDo, type ModelPhase } from '../protocol/model-list.ts'
import { runAnswer } from './answer-run.ts'
import { streamAnswer } from './chat-client.ts'
import type { ChatStore } from './chat-store.ts'
import type { Settings } from './settings.ts'

export interface AskedModel {
  id: string
  phase: ModelPhase
  features: readonly string[]
}

export interface Question {
  text: string
  images: readonly AttachedImage[]
  /** The question that was edited. */
  insteadOf?: string | undefined
}

/** Asks, retries and stops, with at most one running answer per conversation. */
export class ChatSession {
  readonly #store: ChatStore
  readonly #settings: () => Settings
  readonly #authorization: () => Record<string, string>
  readonly #running = new Map<string, AbortController>()

  constructor(store: ChatStore, settings: () => Settings, authorization: () => Record<string, string>) {
    this.#store = store
    this.#settings = settings
    this.#authorization = authorization
  }

  /** True when the question was accepted. */
  ask({ text, images, insteadOf }: Question, model: AskedModel): boolean {
    const content = text.trim().slice(0, MAX_QUESTION_CHARACTERS)
    const conversationId = this.#store.state.currentId ?? newId()
    if ((content === '' && images.length === 0) || this.#running.has(conversationId)) return false
    const answer = answerOf(model)
    this.#store.dispatch({
      type: 'asked',
      conversationId,
      question: { role: 'user', id: newId(), content, images },
      answer,
      now: answer.askedAt,
      insteadOf,
    })
    this.#start(conversationId, answer, model)
    return true
  }

  /** Asks the last question again. The answer that there is stays as a branch. */
  retry(conversationId: string, model: AskedModel): void {
    if (this.#running.has(conversationId)) return
    const answer = answerOf(model)
    this.#store.dispatch({ type: 'retried', conversationId, answer, now: answer.askedAt })
    this.#start(conversationId, answer, model)
  }

  stop(conversationId: string): void {
    this.#running.get(conversationId)?.abort()
  }

  stopAll(): void {
    for (const controller of this.#running.values()) controller.abort()
  }

  remove(conversationId: string): void {
    this.stop(conversationId)
    this.#store.dispatch({ type: 'removed', conversationId })
  }

  isRunning(conversation: Conversation | undefined): boolean {
    return conversation?.messages.some(isRunning) ?? false
  }

  #start(conversationId: string, answer: AssistantMessage, model: AskedModel): void {
    const conversation = this.#store.state.conversations.find(({ id }) => id === conversationId)
    if (conversation === undefined) return
    const { systemPrompt, temperature } = this.#settings()
    const controller = new AbortController()
    this.#running.set(conversationId, controller)
    const messages = requestMessages(shownMessages(conversation).slice(0, -1), systemPrompt, canDo(model, 'Vision'))
    const request = { model: answer.model, messages, temperature, authorization: this.#authorization() }
    void runAnswer({
      address: { conversationId, answerId: answer.id },
      events: streamAnswer(request, controller.signal),
      dispatch: this.#store.dispatch,
      monotonicNow: () => performance.now(),
      wallNow: () => Date.now(),
      signal: controller.signal,
    }).finally(() => this.#running.delete(conversationId))
  }
}

function answerOf(model: AskedModel): AssistantMessage {
  const woke = model.phase !== 'Ready' && model.phase !== 'Unknown'
  return newAnswer(newId(), model.id, Date.now(), woke)
}

/**
 * Makes a random ID. `randomUUID` is available only over https or on localhost, and the gateway may be reached
 * otherwise.
 */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
