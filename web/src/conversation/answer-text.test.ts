import { describe, expect, test } from 'vitest'
import { newAnswer } from './conversation.ts'
import { elapsedText, modelSentence, statsText, waitText } from './answer-text.ts'
import type { ModelPhase } from '../protocol/model-list.ts'

describe('statsText', () => {
  test('measures speed over the tokens after the first', () => {
    expect(statsText({ firstTokenMs: 420, generationMs: 1_000, completionTokens: 32 }, false)).toBe(
      '32 tokens · 31 tokens/s · first token 0.42 s',
    )
    expect(statsText({ firstTokenMs: 12_340, generationMs: 10_000, completionTokens: 36 }, true)).toBe(
      '36 tokens · 3.5 tokens/s · first token 12.3 s with waking',
    )
  })

  test('claims no speed without usage, nor for one token', () => {
    expect(statsText({ firstTokenMs: 5, generationMs: 100, completionTokens: null }, false)).toBe('first token 0.01 s')
    expect(statsText({ firstTokenMs: 500, generationMs: 0, completionTokens: 1 }, false)).toBe(
      '1 token · first token 0.50 s',
    )
  })
})

describe('waitText', () => {
  const listed = (phase: ModelPhase, observedAt: number, message = '') => ({
    entry: { id: 'smollm2', phase, message },
    observedAt,
  })
  const waking = newAnswer('a', 'smollm2', 1_000, true)

  test('counts from the moment it was asked', () => {
    expect(waitText(waking, listed('Asleep', 500), 1_000)).toEqual({
      waking: true,
      headline: 'Waking smollm2… 0 s',
      detail: '',
    })
    expect(waitText(waking, listed('Asleep', 500), 4_900).headline).toBe('Waking smollm2… 3 s')
  })

  test("shows the phase from the gateway's comment, else from the list", () => {
    const heard = { ...waking, wakingDetail: 'starting', wakingHeardAt: 3_000 }
    expect(waitText(heard, listed('Waking', 3_500, 'placed'), 4_000).detail).toBe('starting')
    expect(waitText(waking, listed('Waking', 3_500, 'placed'), 4_000).detail).toBe('placed')
  })

  test('believes a list that says ready only if it is newer than the last word from the stream', () => {
    const heard = { ...waking, wakingDetail: 'starting', wakingHeardAt: 3_000 }
    expect(waitText(heard, listed('Ready', 2_900), 4_000).waking).toBe(true)
    expect(waitText(heard, listed('Ready', 3_100), 4_000)).toEqual({
      waking: false,
      headline: 'smollm2 is awake and reads your message… 3 s',
      detail: '',
    })
  })

  test('a model that is awake, or whose state nobody tells, is waited for', () => {
    const answer = newAnswer('a', 'smollm2', 1_000, false)
    expect(waitText(answer, { entry: undefined, observedAt: 0 }, 3_000)).toEqual({
      waking: false,
      headline: 'Waiting for smollm2… 2 s',
      detail: '',
    })
  })
})

test('elapsed time is told in minutes when there are any, and never negative', () => {
  expect([-5, 0, 59_999, 60_000, 125_000].map(elapsedText)).toEqual(['0 s', '0 s', '59 s', '1 min 00 s', '2 min 05 s'])
})

test('an empty chat says what a sleeping model costs and what wakes it', () => {
  expect(modelSentence({ id: 'smollm2', phase: 'Asleep', message: '' })).toBe(
    'smollm2 is asleep and costs nothing; it wakes when you write.',
  )
  expect(modelSentence({ id: 'smollm2', phase: 'Failed', message: 'no card is free' })).toBe(
    'smollm2 could not start: no card is free. Writing tries again.',
  )
})
