import { describe, expect, test } from 'vitest'
import { chatEventsOf, completionEvents } from './chat-event.ts'
import type { SseFrame } from './sse-parser.ts'

const data = (value: unknown, event = 'message'): SseFrame => ({ kind: 'message', event, data: JSON.stringify(value) })

describe('chatEventsOf', () => {
  test('a waking comment tells the phase; other comments mean nothing', () => {
    expect(chatEventsOf({ kind: 'comment', text: 'waking smollm2: starting, 3 s' }, 'smollm2')).toEqual([
      { kind: 'waking', detail: 'starting' },
    ])
    expect(chatEventsOf({ kind: 'comment', text: 'keep-alive' }, 'smollm2')).toEqual([])
  })

  test('a chunk gives its text, and the last one its finish reason and usage', () => {
    expect(chatEventsOf(data({ choices: [{ delta: { content: 'Par' }, finish_reason: null }] }), 'm')).toEqual([
      { kind: 'text', content: 'Par', reasoning: '' },
    ])
    expect(
      chatEventsOf(data({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: { completion_tokens: 7 } }), 'm'),
    ).toEqual([
      { kind: 'finish', reason: 'stop' },
      { kind: 'usage', completionTokens: 7 },
    ])
    expect(chatEventsOf(data({ choices: [], usage: { completion_tokens: 7 } }), 'm')).toEqual([
      { kind: 'usage', completionTokens: 7 },
    ])
  })

  test('reasoning that the engine keeps apart stays apart', () => {
    expect(chatEventsOf(data({ choices: [{ delta: { reasoning_content: 'hm' } }] }), 'm')).toEqual([
      { kind: 'text', content: '', reasoning: 'hm' },
    ])
  })

  test('an error is one with and without its event name', () => {
    const failure = { message: 'The model stopped.', code: 'upstream_lost' }
    const error = { message: 'The model stopped.', type: 'server_error', code: 'upstream_lost', param: null }
    expect(chatEventsOf(data({ error }), 'm')).toEqual([{ kind: 'failure', failure }])
    expect(chatEventsOf(data({ error }, 'error'), 'm')).toEqual([{ kind: 'failure', failure }])
    expect(chatEventsOf(data(error, 'error'), 'm')).toEqual([{ kind: 'failure', failure }])
    expect(chatEventsOf({ kind: 'message', event: 'error', data: 'gone' }, 'm')).toEqual([
      { kind: 'failure', failure: { message: 'gone', code: '' } },
    ])
  })

  test('[DONE] ends; what is not understood is passed over', () => {
    expect(chatEventsOf({ kind: 'message', event: 'message', data: '[DONE]' }, 'm')).toEqual([{ kind: 'end' }])
    for (const value of [
      null,
      3,
      [],
      {},
      { choices: 'x' },
      { choices: [null] },
      { choices: [{ delta: { content: 5 } }] },
    ]) {
      expect(chatEventsOf(data(value), 'm')).toEqual([])
    }
    expect(chatEventsOf({ kind: 'message', event: 'message', data: 'not json' }, 'm')).toEqual([])
  })
})

test('a whole completion is read like one big chunk', () => {
  expect(
    completionEvents({
      choices: [{ message: { role: 'assistant', content: 'Paris' }, finish_reason: 'stop' }],
      usage: { completion_tokens: 1 },
    }),
  ).toEqual([
    { kind: 'text', content: 'Paris', reasoning: '' },
    { kind: 'finish', reason: 'stop' },
    { kind: 'usage', completionTokens: 1 },
  ])
})
