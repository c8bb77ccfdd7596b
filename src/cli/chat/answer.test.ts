import { describe, expect, it } from 'vitest'
import { SluiceError } from '../../foundation/errors.ts'
import type { ModelState } from '../running/model-sentence.ts'
import { harmless, showAnswer } from './answer.ts'
import type { AnswerPart } from './chat-client.ts'
import { eventFrames } from './event-frames.ts'

async function* bytesOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

function setUp(parts: () => AsyncGenerator<AnswerPart>, state: ModelState = {}) {
  const shown: string[] = []
  const screen = {
    out: (text: string) => void shown.push(text),
    line: { say: (text: string) => void shown.push(`[${text}]`), clear: () => void shown.push('[]') },
  }
  const client = { answer: parts, stateOf: () => Promise.resolve(state) }
  const stop = new AbortController()
  const answer = () => showAnswer(client, 'm', [{ role: 'user', content: 'Hi' }], screen, stop.signal)
  return { shown, stop, answer }
}

describe('an answer', () => {
  it('is shown as it comes, after what the model does in plain words', async () => {
    const loading = { phase: 'Reading' as const, percent: 45 }
    const { shown, answer } = setUp(
      async function* () {
        yield { kind: 'waking' }
        await new Promise(setImmediate)
        yield { kind: 'text', text: 'Hel' }
        yield { kind: 'text', text: 'lo' }
      },
      { phase: 'Waking', loading, lastLoadSeconds: 12 },
    )
    expect(await answer()).toBe('Hello')
    expect(shown).toEqual(['[m: Waking: reading its files, 45 % (last time it took 12 s).]', '[]', 'Hel', 'lo'])
  })

  it('keeps what came when it is stopped', async () => {
    const stage = setUp(async function* () {
      yield { kind: 'text', text: 'Once upon' }
      stage.stop.abort()
      throw new DOMException('stopped', 'AbortError')
    })
    expect(await stage.answer()).toBe('Once upon')
  })

  it('fails with what the gateway says', async () => {
    const { answer } = setUp(async function* () {
      yield { kind: 'text', text: 'Once' }
      throw new SluiceError('answer_failed', { reason: 'It broke off.' })
    })
    await expect(answer()).rejects.toThrow('It broke off.')
  })

  it('cannot steer the terminal', () => {
    expect(harmless('a\u001b[2J\u0007b\r\n\tc 👩‍👧')).toBe('a[2Jb\n\tc 👩‍👧')
  })
})

describe('a stream of events', () => {
  it('is read however its bytes are cut', async () => {
    const frames = []
    for await (const frame of eventFrames(
      bytesOf(': waking', ' m: x\n\nda', 'ta: {"a":\r\n', 'data: 1}\r\n\r\n', 'data: last'),
    ))
      frames.push(frame)
    expect(frames).toEqual([
      { data: '', comment: 'waking m: x' },
      { data: '{"a":\n1}', comment: '' },
      { data: 'last', comment: '' },
    ])
  })
})
