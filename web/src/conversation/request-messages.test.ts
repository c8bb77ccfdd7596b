import { expect, test } from 'vitest'
import { newAnswer, type Message } from './conversation.ts'
import { requestMessages } from './request-messages.ts'

const user = (content: string): Message => ({ role: 'user', id: content, content })
const assistant = (content: string): Message => ({
  ...newAnswer(`to ${content}`, 'm', 0, false),
  content,
  status: 'done',
})

test('sends the system prompt, the earlier turns and the question', () => {
  expect(requestMessages([user('a'), assistant('A'), user('b'), assistant('')], ' Be brief. ')).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'A' },
    { role: 'user', content: 'b' },
  ])
})

test('leaves out turns that failed before their first word, so that roles alternate', () => {
  expect(requestMessages([user('a'), assistant(''), user('b'), assistant('')], '')).toEqual([
    { role: 'user', content: 'b' },
  ])
})

test('leaves out the reasoning of earlier answers', () => {
  expect(requestMessages([user('a'), assistant('<think>hm</think>A'), user('b')], '')).toEqual([
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'A' },
    { role: 'user', content: 'b' },
  ])
})
