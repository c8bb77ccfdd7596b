import { describe, expect, test } from 'vitest'
import { newAnswer, type AssistantMessage, type Conversation, type Message } from './conversation.ts'
import { ConversationStorage, type KeyValueStorage } from './conversation-storage.ts'

class SmallStorage implements KeyValueStorage {
  readonly items = new Map<string, string>()
  readonly #quota: number

  constructor(quota = Infinity) {
    this.#quota = quota
  }

  get length(): number {
    return this.items.size
  }
  key(index: number): string | null {
    return [...this.items.keys()][index] ?? null
  }
  getItem(key: string): string | null {
    return this.items.get(key) ?? null
  }
  setItem(key: string, value: string): void {
    const others = [...this.items].filter(([other]) => other !== key).reduce((sum, [, text]) => sum + text.length, 0)
    if (others + value.length > this.#quota) throw new Error('QuotaExceededError')
    this.items.set(key, value)
  }
  removeItem(key: string): void {
    this.items.delete(key)
  }
}

const conversation = (id: string, updatedAt: number, content = 'Paris.'): Conversation => ({
  id,
  title: 'Capital',
  model: 'smollm2',
  updatedAt,
  messages: [
    { role: 'user', id: 'q', parentId: null, content: 'Capital of France?', images: [] },
    {
      ...newAnswer('a', 'smollm2', 5, true),
      parentId: 'q',
      content,
      status: 'done',
      stats: { firstTokenMs: 1, generationMs: 2, completionTokens: 3 },
    },
  ],
  leafId: 'a',
})

const answered = (answer: AssistantMessage): Message[] => [
  { role: 'user', id: 'q', parentId: null, content: 'x', images: [] },
  { ...answer, parentId: 'q' },
]

describe('ConversationStorage', () => {
  test('gives back what was saved', () => {
    const storage = new ConversationStorage(new SmallStorage())
    storage.save(conversation('one', 1))
    storage.save(conversation('two', 2))
    storage.save({ ...conversation('one', 3), title: 'Renamed' })
    expect(storage.loadAll()).toEqual([{ ...conversation('one', 3), title: 'Renamed' }, conversation('two', 2)])
    storage.remove('one')
    expect(storage.loadAll()).toEqual([conversation('two', 2)])
  })

  test('an answer that was running when the page went away comes back as stopped', () => {
    const storage = new ConversationStorage(new SmallStorage())
    const running = { ...newAnswer('a', 'smollm2', 5, true), content: 'Par', status: 'streaming' as const }
    storage.save({ ...conversation('one', 1), messages: answered(running) })
    expect(storage.loadAll()[0]?.messages[1]).toMatchObject({ status: 'stopped', content: 'Par' })
  })

  test('a failed answer keeps its message', () => {
    const storage = new ConversationStorage(new SmallStorage())
    const failure = { message: 'no card is free', code: 'no_card' }
    const failed = { ...newAnswer('a', 'smollm2', 5, true), status: 'failed' as const, failure }
    storage.save({ ...conversation('one', 1), messages: answered(failed) })
    expect(storage.loadAll()[0]?.messages[1]).toMatchObject({ status: 'failed', failure })
  })

  test('passes over what is not its own or is damaged', () => {
    const items = new SmallStorage()
    items.items.set('theme', 'dark')
    items.items.set('sluice.chat.x', '{"format":1,"id":"x","messages":[{"role":"robot"}]}')
    items.items.set('sluice.chat.y', '{"format":99}')
    items.items.set('sluice.chat.z', 'not json')
    const storage = new ConversationStorage(items)
    storage.save(conversation('one', 1))
    expect(storage.loadAll().map(({ id }) => id)).toEqual(['one'])
    expect(items.items.get('theme')).toBe('dark')
  })

  test('keeps branches and which of them was shown, and reads chats from before there were any', () => {
    const items = new SmallStorage()
    const storage = new ConversationStorage(items)
    const { messages, ...rest } = conversation('one', 1)
    const edited: Message = { role: 'user', id: 'e', parentId: null, content: 'Capital of Spain?', images: [] }
    storage.save({ ...rest, messages: [...messages, edited], leafId: 'a' })
    expect(storage.loadAll()[0]).toMatchObject({ leafId: 'a', messages: [{ id: 'q' }, { id: 'a' }, edited] })
    const line = [
      { role: 'user', id: 'q' },
      { role: 'assistant', id: 'a' },
      { role: 'user', id: 'r' },
    ]
    items.setItem('sluice.chat.old', JSON.stringify({ format: 1, id: 'old', messages: line }))
    expect(storage.loadAll()[1]).toMatchObject({
      leafId: 'r',
      messages: [{ parentId: null }, { parentId: 'q' }, { parentId: 'a' }],
    })
  })

  test('messages that follow nothing or each other in a circle are passed over', () => {
    const items = new SmallStorage()
    const messages = [
      { role: 'user', id: 'a', parentId: 'b' },
      { role: 'user', id: 'b', parentId: 'a' },
      { role: 'user', id: 'c' },
      { role: 'user', id: 'c', parentId: 'c' },
    ]
    items.setItem('sluice.chat.x', JSON.stringify({ format: 2, id: 'x', messages, leafId: 'a' }))
    expect(new ConversationStorage(items).loadAll()[0]).toMatchObject({ leafId: 'c', messages: [{ id: 'c' }] })
  })

  test('makes room by dropping the oldest, and gives up only when alone it does not fit', () => {
    const items = new SmallStorage(1_500)
    const storage = new ConversationStorage(items)
    for (const [id, time] of [
      ['old', 1],
      ['newer', 2],
      ['newest', 3],
    ] as const) {
      expect(storage.save(conversation(id, time, 'x'.repeat(200)))).toBe(true)
    }
    expect(storage.loadAll().map(({ id }) => id)).toEqual(['newer', 'newest'])
    expect(storage.save(conversation('huge', 4, 'x'.repeat(2_000)))).toBe(false)
  })

  test('pictures make room before chats do, those of this chat last, and what is none is never shown', () => {
    const items = new SmallStorage(3_000)
    const storage = new ConversationStorage(items)
    const url = `data:image/png;base64,${'A'.repeat(1_000)}`
    const withPicture = (id: string, time: number, shown = url): Conversation => {
      const { messages, ...rest } = conversation(id, time)
      const question: Message = {
        role: 'user',
        id: 'p',
        parentId: null,
        content: 'Look',
        images: [{ name: 'a', url: shown }],
      }
      return { ...rest, messages: [question, ...messages] }
    }
    const kept = () =>
      storage.loadAll().map(({ id, messages: [first] }) => [id, first?.role === 'user' && first.images[0]?.url !== ''])
    storage.save(withPicture('old', 1))
    storage.save(withPicture('newer', 2))
    expect(kept()).toEqual([
      ['old', false],
      ['newer', true],
    ])
    expect(storage.save(withPicture('huge', 3, `data:image/png;base64,${'A'.repeat(3_000)}`))).toBe(true)
    expect(kept()).toContainEqual(['huge', false])
    storage.save(withPicture('hostile', 4, 'https://e.org/track.png'))
    expect(kept()).toContainEqual(['hostile', false])
  })

  test('knows which keys are its own', () => {
    const storage = new ConversationStorage(new SmallStorage())
    expect(storage.idOfKey('sluice.chat.abc')).toBe('abc')
    expect(storage.idOfKey('theme')).toBeUndefined()
  })
})
