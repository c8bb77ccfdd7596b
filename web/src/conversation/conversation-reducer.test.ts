import { describe, expect, test } from 'vitest'
import { MAX_CONVERSATIONS, MAX_MESSAGES, newAnswer, type AssistantMessage, type Conversation } from './conversation.ts'
import { EMPTY_CHAT, currentConversation, reduceChat, type ChatAction, type ChatState } from './conversation-reducer.ts'

const run = (actions: ChatAction[], from: ChatState = EMPTY_CHAT) => actions.reduce(reduceChat, from)

const asked = (conversationId: string, turn: string, now: number): ChatAction => ({
  type: 'asked',
  conversationId,
  question: { role: 'user', id: `q${turn}`, content: `question ${turn}` },
  answer: newAnswer(`a${turn}`, 'smollm2', now, true),
  now,
})
const at = (conversationId: string, answerId: string) => ({ conversationId, answerId })
const lastAnswer = (state: ChatState): AssistantMessage => {
  const message = currentConversation(state)?.messages.at(-1)
  if (message?.role !== 'assistant') throw new Error('no answer there')
  return message
}

describe('an answer', () => {
  test('waits, wakes, streams and is done', () => {
    let state = run([asked('c', '1', 10)])
    expect(lastAnswer(state)).toMatchObject({ status: 'waiting', woke: true, askedAt: 10 })
    state = run([{ type: 'waking', ...at('c', 'a1'), detail: 'starting', now: 12 }], state)
    expect(lastAnswer(state)).toMatchObject({ status: 'waiting', wakingDetail: 'starting', wakingHeardAt: 12 })
    state = run(
      [
        { type: 'received', ...at('c', 'a1'), content: 'Par', reasoning: '' },
        { type: 'received', ...at('c', 'a1'), content: 'is', reasoning: '' },
      ],
      state,
    )
    expect(lastAnswer(state)).toMatchObject({ status: 'streaming', content: 'Paris' })
    const stats = { firstTokenMs: 5, generationMs: 9, completionTokens: 2 }
    state = run([{ type: 'finished', ...at('c', 'a1'), stats, cutShort: false }], state)
    expect(lastAnswer(state)).toMatchObject({ status: 'done', content: 'Paris', stats })
  })

  test('that was stopped keeps its text and takes nothing more', () => {
    const stopped = run([
      asked('c', '1', 1),
      { type: 'received', ...at('c', 'a1'), content: 'Par', reasoning: '' },
      { type: 'stopped', ...at('c', 'a1'), stats: null },
    ])
    const late = run([{ type: 'received', ...at('c', 'a1'), content: 'is', reasoning: '' }], stopped)
    expect(late).toBe(stopped)
    expect(lastAnswer(late)).toMatchObject({ status: 'stopped', content: 'Par' })
  })

  test('that failed is replaced when it is retried', () => {
    const failed = run([
      asked('c', '1', 1),
      { type: 'failed', ...at('c', 'a1'), failure: { message: 'no card', code: 'no_card' }, stats: null },
    ])
    expect(lastAnswer(failed).failure).toEqual({ message: 'no card', code: 'no_card' })
    const retried = run(
      [{ type: 'retried', conversationId: 'c', answer: newAnswer('a2', 'qwen', 5, false), now: 5 }],
      failed,
    )
    expect(currentConversation(retried)?.messages.map(({ id }) => id)).toEqual(['q1', 'a2'])
    expect(currentConversation(retried)?.model).toBe('qwen')
  })

  test('of a conversation that is gone changes nothing', () => {
    const state = run([asked('c', '1', 1), { type: 'removed', conversationId: 'c' }])
    expect(run([{ type: 'received', ...at('c', 'a1'), content: 'x', reasoning: '' }], state)).toBe(state)
  })
})

describe('conversations', () => {
  test('are named after their first question, latest first, and the asked one is current', () => {
    const state = run([asked('one', '1', 1), asked('two', '2', 2), asked('one', '3', 3)])
    expect(state.conversations.map(({ id, title }) => [id, title])).toEqual([
      ['one', 'question 1'],
      ['two', 'question 2'],
    ])
    expect(state.currentId).toBe('one')
    expect(currentConversation(state)?.messages).toHaveLength(4)
  })

  test('are bounded: the oldest is dropped', () => {
    const actions = Array.from({ length: MAX_CONVERSATIONS + 3 }, (_, i) => asked(`c${i}`, `${i}`, i))
    const state = run(actions)
    expect(state.conversations).toHaveLength(MAX_CONVERSATIONS)
    expect(state.conversations.at(-1)?.id).toBe('c3')
  })

  test('are bounded in length, and never start with an answer', () => {
    const turns = Array.from({ length: MAX_MESSAGES / 2 + 5 }, (_, i) => asked('c', `${i}`, i))
    const messages = currentConversation(run(turns))?.messages
    expect(messages).toHaveLength(MAX_MESSAGES)
    expect(messages?.[0]?.id).toBe('q5')
  })

  test('can be switched and removed; removing the current one starts a new chat', () => {
    const state = run([asked('one', '1', 1), asked('two', '2', 2), { type: 'selected', conversationId: 'one' }])
    expect(state.currentId).toBe('one')
    expect(run([{ type: 'selected', conversationId: 'nowhere' }], state)).toBe(state)
    expect(run([{ type: 'removed', conversationId: 'two' }], state).currentId).toBe('one')
    expect(run([{ type: 'removed', conversationId: 'one' }], state).currentId).toBeNull()
    expect(run([{ type: 'selected', conversationId: null }], state).currentId).toBeNull()
  })

  test('from another tab replace the older copy and leave the rest', () => {
    const state = run([asked('one', '1', 1), asked('two', '2', 2)])
    const other: Conversation = { id: 'one', title: 'from there', model: 'm', updatedAt: 9, messages: [] }
    const merged = run([{ type: 'restored', conversations: [other] }], state)
    expect(merged.conversations.map(({ id, title }) => [id, title])).toEqual([
      ['one', 'from there'],
      ['two', 'question 2'],
    ])
    expect(merged.currentId).toBe('two')
  })
})
