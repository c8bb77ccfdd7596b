import { boundMessages, newestLeafBelow } from './conversation-tree.ts'
import {
  MAX_CONVERSATIONS,
  MAX_MESSAGES,
  titleOf,
  type AnswerStats,
  type AssistantMessage,
  type Conversation,
  type UserMessage,
} from './conversation.ts'
import type { Failure } from '../protocol/failure.ts'
import { unreachable } from '../unreachable.ts'

export interface ChatState {
  /** The most recent first. */
  readonly conversations: readonly Conversation[]
  /** Null for a new chat without messages, which is not stored yet. */
  readonly currentId: string | null
}

interface AnswerAddress {
  conversationId: string
  answerId: string
}

export type ChatAction =
  | {
      type: 'asked'
      conversationId: string
      question: Omit<UserMessage, 'parentId'>
      answer: AssistantMessage
      now: number
      /** The earlier question that this one is another version of; what followed that one stays as a branch. */
      insteadOf?: string | undefined
    }
  | { type: 'retried'; conversationId: string; answer: AssistantMessage; now: number }
  | { type: 'branched'; conversationId: string; messageId: string }
  | ({ type: 'waking'; detail: string; now: number } & AnswerAddress)
  | ({ type: 'received'; content: string; reasoning: string } & AnswerAddress)
  | ({ type: 'finished'; stats: AnswerStats | null; cutShort: boolean } & AnswerAddress)
  | ({ type: 'stopped'; stats: AnswerStats | null } & AnswerAddress)
  | ({ type: 'failed'; failure: Failure; stats: AnswerStats | null } & AnswerAddress)
  | { type: 'selected'; conversationId: string | null }
  | { type: 'removed'; conversationId: string }
  /** Conversations were read from storage, at the start or because another tab has written them. */
  | { type: 'restored'; conversations: readonly Conversation[] }

export const EMPTY_CHAT: ChatState = { conversations: [], currentId: null }

export function reduceChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.type) {
    case 'asked':
      return ask(state, action)
    case 'retried':
      return changeConversation(state, action.conversationId, (conversation) => ({
        ...conversation,
        model: action.answer.model,
        updatedAt: action.now,
        ...answerAgain(conversation, action.answer),
      }))
    case 'branched':
      return changeConversation(state, action.conversationId, (conversation) =>
        conversation.messages.some(({ id }) => id === action.messageId)
          ? { ...conversation, leafId: newestLeafBelow(conversation.messages, action.messageId) }
          : conversation,
      )
    case 'waking':
      return changeAnswer(state, action, (answer) =>
        answer.status === 'waiting'
          ? { ...answer, woke: true, wakingDetail: action.detail, wakingHeardAt: action.now }
          : answer,
      )
    case 'received':
      return changeAnswer(state, action, (answer) => ({
        ...answer,
        status: 'streaming',
        content: answer.content + action.content,
        reasoning: answer.reasoning + action.reasoning,
      }))
    case 'finished':
      return changeAnswer(state, action, (answer) => ({
        ...answer,
        status: 'done',
        stats: action.stats,
        cutShort: action.cutShort,
      }))
    case 'stopped':
      return changeAnswer(state, action, (answer) => ({ ...answer, status: 'stopped', stats: action.stats }))
    case 'failed':
      return changeAnswer(state, action, (answer) => ({
        ...answer,
        status: 'failed',
        failure: action.failure,
        stats: action.stats,
      }))
    case 'selected':
      return selects(state, action.conversationId) ? { ...state, currentId: action.conversationId } : state
    case 'removed':
      return {
        conversations: state.conversations.filter(({ id }) => id !== action.conversationId),
        currentId: state.currentId === action.conversationId ? null : state.currentId,
      }
    case 'restored':
      return restore(state, action.conversations)
    default:
      return unreachable(action)
  }
}

export function currentConversation(state: ChatState): Conversation | undefined {
  return state.conversations.find(({ id }) => id === state.currentId)
}

function selects(state: ChatState, id: string | null): boolean {
  return id === null || state.conversations.some((conversation) => conversation.id === id)
}

function ask(state: ChatState, action: Extract<ChatAction, { type: 'asked' }>): ChatState {
  const { conversationId, question, answer, now, insteadOf } = action
  const known = state.conversations.find(({ id }) => id === conversationId)
  const edited = known?.messages.find(({ id }) => id === insteadOf)
  const parentId = edited === undefined ? (known?.leafId ?? null) : edited.parentId
  const added = [
    { ...question, parentId },
    { ...answer, parentId: question.id },
  ]
  const conversation: Conversation = {
    id: conversationId,
    title: known?.title ?? (titleOf(question.content) || 'Picture'),
    model: answer.model,
    updatedAt: now,
    messages: boundMessages([...(known?.messages ?? []), ...added], answer.id, MAX_MESSAGES),
    leafId: answer.id,
  }
  const others = state.conversations.filter(({ id }) => id !== conversationId)
  return { conversations: boundConversations([conversation, ...others]), currentId: conversationId }
}

function restore(state: ChatState, restored: readonly Conversation[]): ChatState {
  const ids = new Set(restored.map(({ id }) => id))
  const merged = [...restored, ...state.conversations.filter(({ id }) => !ids.has(id))]
  const conversations = boundConversations(merged)
  const kept = conversations.some(({ id }) => id === state.currentId)
  return { conversations, currentId: kept ? state.currentId : null }
}

function boundConversations(conversations: Conversation[]): Conversation[] {
  return conversations.sort((a, b) => b.updatedAt - a.updatedAt).slice(0, MAX_CONVERSATIONS)
}

/** Another answer to the last question. One that ended without a word is not worth a branch. */
function answerAgain(
  { messages, leafId }: Conversation,
  answer: AssistantMessage,
): Pick<Conversation, 'messages' | 'leafId'> {
  const last = messages.find(({ id }) => id === leafId)
  const isAnswer = last?.role === 'assistant'
  const kept = isAnswer && last.content === '' ? messages.filter((message) => message !== last) : messages
  const parentId = isAnswer ? last.parentId : leafId
  return { messages: boundMessages([...kept, { ...answer, parentId }], answer.id, MAX_MESSAGES), leafId: answer.id }
}

function changeConversation(
  state: ChatState,
  conversationId: string,
  change: (conversation: Conversation) => Conversation,
): ChatState {
  const index = state.conversations.findIndex(({ id }) => id === conversationId)
  const conversation = state.conversations[index]
  if (conversation === undefined) return state
  const changed = change(conversation)
  if (changed === conversation) return state
  const conversations = state.conversations.with(index, changed)
  return {
    ...state,
    conversations: changed.updatedAt === conversation.updatedAt ? conversations : boundConversations(conversations),
  }
}

function changeAnswer(
  state: ChatState,
  { conversationId, answerId }: AnswerAddress,
  change: (answer: AssistantMessage) => AssistantMessage,
): ChatState {
  return changeConversation(state, conversationId, (conversation) => {
    const index = conversation.messages.findIndex(({ id }) => id === answerId)
    const answer = conversation.messages[index]
    // Finished answers never change, so a late event of an aborted stream has no effect.
    if (answer?.role !== 'assistant' || !(answer.status === 'waiting' || answer.status === 'streaming'))
      return conversation
    const changed = change(answer)
    return changed === answer ? conversation : { ...conversation, messages: conversation.messages.with(index, changed) }
  })
}
