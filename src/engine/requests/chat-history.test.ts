import { describe, expect, it } from 'vitest'
import { toChatHistory } from './chat-history.ts'
import type { ChatMessage } from '../llama/language-model.ts'

const user: ChatMessage = { role: 'user', content: 'Hi' }
const calling: ChatMessage = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'c1', name: 'look', arguments: '{"at":"sky"}' }],
}
const result: ChatMessage = { role: 'tool', content: 'blue', toolCallId: 'c1' }
const call = { type: 'functionCall', name: 'look', params: { at: 'sky' }, result: 'blue', startsNewChunk: true }

describe('toChatHistory', () => {
  it('ends with the turn that is to be written', () => {
    expect(toChatHistory([user, { role: 'assistant', content: 'Hello.', toolCalls: [] }, user])).toEqual([
      { type: 'user', text: 'Hi' },
      { type: 'model', response: ['Hello.'] },
      { type: 'user', text: 'Hi' },
      { type: 'model', response: [''] },
    ])
  })

  it('makes one turn of a call, its result and what follows', () => {
    expect(toChatHistory([user, calling, result])).toEqual([
      { type: 'user', text: 'Hi' },
      { type: 'model', response: ['', call, ''] },
    ])
    expect(
      toChatHistory([user, calling, result, { role: 'assistant', content: 'It is blue.', toolCalls: [] }, user]),
    ).toEqual([
      { type: 'user', text: 'Hi' },
      { type: 'model', response: ['', call, 'It is blue.'] },
      { type: 'user', text: 'Hi' },
      { type: 'model', response: [''] },
    ])
  })

  it.each([
    ['a result without its call', [user, result], 'messages[1]'],
    ['a result of another call', [user, calling, { ...result, toolCallId: 'c2' }], 'messages[2]'],
    ['a call without its result', [user, calling], 'messages[1].tool_calls[0]'],
  ])('refuses %s', (_, messages, param) => {
    expect(() => toChatHistory(messages)).toThrow(
      expect.objectContaining({ code: 'invalid_request', details: expect.objectContaining({ param }) }),
    )
  })
})
