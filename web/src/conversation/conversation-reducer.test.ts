import { describe, expect, test } from 'vitest'
import { MAX_CONVERSATIONS, MAX_MESSAGES, newAnswer, type AssistantMessage, type Conversation } from './conversation.ts'
import { shownMessages } from './conversation-tree.ts'
import { EMPTY_CHAT, currentConversation, reduceChat, type ChatAction, type ChatState } from './conversation-reducer.ts'

const run = (actions: ChatAction[], from: ChatState = EMPTY_CHAT) => actions.reduce(reduceChat, from)

const asked = (conversationId: string, turn: string, now: number): ChatAction => ({
  type: 'asked',
  conversationId,
  question: { role: 'user', id: `q${turn}`, content: `question ${turn}`, images: [] },
  answer: newAnswer(`a${turn}`, 'smollm2', now, true),
  now,
})
const at = (conversationId: string, answerId: string) => ({ conversationId, answerId })
const lastAnswer = (state: ChatState): AssistantMessage => {
  const conversation = currentConversation(state)
  const message = conversation?.messages.find(({ id }) => id === conversation.leafId)
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

describe('branches', () => {
  const done = (answerId: string, content: string): ChatAction[] => [
    { type: 'received', ...at('c', answerId), content, reasoning: '' },
    { type: 'finished', ...at('c', answerId), stats: null, cutShort: false },
  ]
  const shown = (state: ChatState) => {
    const conversation = currentConversation(state)
    return conversation === undefined ? [] : shownMessages(conversation).map(({ id }) => id)
  }

  test('an edited question begins one, and what followed the first stays', () => {
    const state = run([
      asked('c', '1', 1),
      ...done('a1', 'one'),
      asked('c', '2', 2),
      ...done('a2', 'two'),
      { ...asked('c', '3', 3), insteadOf: 'q2' } as ChatAction,
    ])
    expect(shown(state)).toEqual(['q1', 'a1', 'q3', 'a3'])
    const back = run([{ type: 'branched', conversationId: 'c', messageId: 'q2' }], state)
    expect(shown(back)).toEqual(['q1', 'a1', 'q2', 'a2'])
    // What is asked next goes on where the reader is, and a running answer of another branch goes on, too.
    const next = run([asked('c', '4', 4), ...done('a3', 'three')], back)
    expect(shown(next)).toEqual(['q1', 'a1', 'q2', 'a2', 'q4', 'a4'])
    expect(shown(run([{ type: 'branched', conversationId: 'c', messageId: 'q3' }], next))).toEqual([
      'q1',
      'a1',
      'q3',
      'a3',
    ])
    expect(currentConversation(next)?.messages.find(({ id }) => id === 'a3')).toMatchObject({ content: 'three' })
  })

  test('the very first question can be edited, too', () => {
    const state = run([
      asked('c', '1', 1),
      ...done('a1', 'one'),
      { ...asked('c', '2', 2), insteadOf: 'q1' } as ChatAction,
    ])
    expect(shown(state)).toEqual(['q2', 'a2'])
    expect(currentConversation(state)?.messages).toHaveLength(4)
  })

  test('an answer that is asked for again keeps the first beside it', () => {
    const again = { type: 'retried', conversationId: 'c', answer: newAnswer('b1', 'qwen', 5, false), now: 5 } as const
    const state = run([asked('c', '1', 1), ...done('a1', 'one'), again])
    expect(shown(state)).toEqual(['q1', 'b1'])
    expect(shown(run([{ type: 'branched', conversationId: 'c', messageId: 'a1' }], state))).toEqual(['q1', 'a1'])
    expect(run([{ type: 'branched', conversationId: 'c', messageId: 'nobody' }], state)).toBe(state)
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
    const other: Conversation = { id: 'one', title: 'from there', model: 'm', updatedAt: 9, messages: [], leafId: '' }
    const merged = run([{ type: 'restored', conversations: [other] }], state)
    expect(merged.conversations.map(({ id, title }) => [id, title])).toEqual([
      ['one', 'from there'],
      ['two', 'question 2'],
    ])
    expect(merged.currentId).toBe('two')
  })
})
