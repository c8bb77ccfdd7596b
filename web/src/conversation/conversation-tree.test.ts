import { expect, test } from 'vitest'
import { newAnswer, type Message } from './conversation.ts'
import { boundMessages, newestLeafBelow, shownMessages, siblingsOf } from './conversation-tree.ts'

const question = (id: string, parentId: string | null): Message => ({
  role: 'user',
  id,
  parentId,
  content: id,
  images: [],
})
const answer = (id: string, parentId: string): Message => ({ ...newAnswer(id, 'm', 0, false), parentId })

// q1 → a1 → q2 → a2, a2 again as b2, and q2 edited as e2 → f2.
const messages = [
  question('q1', null),
  answer('a1', 'q1'),
  question('q2', 'a1'),
  answer('a2', 'q2'),
  answer('b2', 'q2'),
  question('e2', 'a1'),
  answer('f2', 'e2'),
]
const ids = (list: readonly Message[]) => list.map(({ id }) => id)

test('shows the way to one leaf', () => {
  expect(ids(shownMessages({ messages, leafId: 'b2' }))).toEqual(['q1', 'a1', 'q2', 'b2'])
  expect(ids(shownMessages({ messages, leafId: 'f2' }))).toEqual(['q1', 'a1', 'e2', 'f2'])
  expect(shownMessages({ messages, leafId: 'nobody' })).toEqual([])
})

test('knows what stands beside a message, and the newest end below one', () => {
  const at = (index: number) => messages[index] ?? question('', null)
  expect(ids(siblingsOf(messages, at(2)))).toEqual(['q2', 'e2'])
  expect(ids(siblingsOf(messages, at(4)))).toEqual(['a2', 'b2'])
  expect(newestLeafBelow(messages, 'q2')).toBe('b2')
  expect(newestLeafBelow(messages, 'a2')).toBe('a2')
})

test('drops what is not shown first, the oldest branch before the others, and then the oldest turns', () => {
  expect(ids(boundMessages(messages, 'f2', 5))).toEqual(['q1', 'a1', 'e2', 'f2'])
  expect(ids(boundMessages(messages, 'b2', 6))).toEqual(['q1', 'a1', 'q2', 'b2', 'e2', 'f2'])
  const cut = boundMessages(messages, 'f2', 3)
  expect(ids(cut)).toEqual(['e2', 'f2'])
  expect(ids(shownMessages({ messages: cut, leafId: 'f2' }))).toEqual(['e2', 'f2'])
})
