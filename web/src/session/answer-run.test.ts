import { describe, expect, test } from 'vitest'
import type { ChatAction } from '../conversation/conversation-reducer.ts'
import type { ChatEvent } from '../protocol/chat-event.ts'
import { AnswerError } from '../protocol/failure.ts'
import { runAnswer } from './answer-run.ts'

const address = { conversationId: 'c', answerId: 'a' }
const text = (content: string): ChatEvent => ({ kind: 'text', content, reasoning: '' })

/** Runs an answer in which each event takes 100 ms of fake time. */
async function run(events: (ChatEvent | Error | (() => void))[]): Promise<{ actions: ChatAction[]; closed: boolean }> {
  const actions: ChatAction[] = []
  const controller = new AbortController()
  let now = 0
  let closed = false
  async function* play(): AsyncGenerator<ChatEvent> {
    try {
      for (const event of events) {
        now += 100
        if (event instanceof Error) throw event
        if (typeof event !== 'function') yield event
        else {
          controller.abort()
          event()
        }
      }
    } finally {
      closed = true
    }
  }
  await runAnswer({
    address,
    events: play(),
    dispatch: (action) => actions.push(action),
    monotonicNow: () => now,
    wallNow: () => 1_000 + now,
    signal: controller.signal,
  })
  return { actions, closed }
}

describe('runAnswer', () => {
  test('tells the wake, the text and the measured times', async () => {
    const { actions, closed } = await run([
      { kind: 'waking', detail: 'starting' },
      text('Par'),
      text('is'),
      { kind: 'finish', reason: 'stop' },
      { kind: 'usage', completionTokens: 2 },
      { kind: 'end' },
    ])
    expect(actions).toEqual([
      { type: 'waking', ...address, detail: 'starting', now: 1_100 },
      { type: 'received', ...address, content: 'Par', reasoning: '' },
      { type: 'received', ...address, content: 'is', reasoning: '' },
      {
        type: 'finished',
        ...address,
        stats: { firstTokenMs: 200, generationMs: 100, completionTokens: 2 },
        cutShort: false,
      },
    ])
    expect(closed).toBe(true)
  })

  test('says when the model ran into its length limit, also without [DONE]', async () => {
    const { actions } = await run([text('x'), { kind: 'finish', reason: 'length' }])
    expect(actions.at(-1)).toMatchObject({ type: 'finished', cutShort: true })
  })

  test('a stream that just ends is a failure, not an answer', async () => {
    const { actions } = await run([text('Par')])
    expect(actions.at(-1)).toMatchObject({ type: 'failed', failure: { code: 'incomplete' } })
  })

  test("an error event or a refused request ends it with the server's message", async () => {
    const failure = { message: 'no card is free', code: 'no_card' }
    const inStream = await run([text('Par'), { kind: 'failure', failure }, text('never shown')])
    expect(inStream.actions.map(({ type }) => type)).toEqual(['received', 'failed'])
    expect(inStream.actions.at(-1)).toMatchObject({ failure })
    expect(inStream.closed).toBe(true)
    const refused = await run([new AnswerError(failure)])
    expect(refused.actions).toEqual([{ type: 'failed', ...address, failure, stats: null }])
  })

  test('an unexpected error does not escape', async () => {
    const { actions } = await run([new TypeError('bug')])
    expect(actions).toMatchObject([{ type: 'failed', failure: { code: 'page_error' } }])
  })

  test('Stop ends it, whether the stream then throws or had more to give', async () => {
    const aborted = await run([
      text('Par'),
      () => {
        throw new DOMException('stopped', 'AbortError')
      },
    ])
    expect(aborted.actions.map(({ type }) => type)).toEqual(['received', 'stopped'])
    const late = await run([text('Par'), () => undefined, text('is')])
    expect(late.actions.map(({ type }) => type)).toEqual(['received', 'stopped'])
  })

  test('an answer without end is cut', async () => {
    const { actions, closed } = await run(Array.from({ length: 10 }, () => text('x'.repeat(100_000))))
    expect(actions.at(-1)).toMatchObject({ type: 'failed', failure: { code: 'too_long' } })
    expect(actions).toHaveLength(7)
    expect(closed).toBe(true)
  })
})
