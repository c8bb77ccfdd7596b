import { expect, test } from 'vitest'
import { newAnswer, type Message } from './conversation.ts'
import { requestMessages } from './request-messages.ts'

const user = (content: string): Message => ({ role: 'user', id: content, parentId: null, content, images: [] })
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

test('sends pictures to a model that sees, the latest ones, and to others only the text', () => {
  const seen = (content: string, ...urls: string[]): Message => ({
    role: 'user',
    id: content,
    parentId: null,
    content,
    images: urls.map((url) => ({ name: 'a.png', url })),
  })
  const messages = [seen('a', 'data:1', ''), assistant('A'), seen('', 'data:2')]
  expect(requestMessages(messages, '', true)).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:1' } },
      ],
    },
    { role: 'assistant', content: 'A' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:2' } }] },
  ])
  expect(requestMessages(messages, '', false)[0]).toEqual({ role: 'user', content: 'a' })
  const many = seen('x', ...Array.from({ length: 20 }, (_, index) => `data:${index}`))
  const content = requestMessages([many], '', true)[0]?.content
  expect(content).toHaveLength(9)
})
