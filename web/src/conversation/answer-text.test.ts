import { describe, expect, test } from 'vitest'
import { newAnswer } from './conversation.ts'
import { elapsedText, modelSentence, statsText, waitText } from './answer-text.ts'
import type { ModelEntry, ModelPhase } from '../protocol/model-list.ts'

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

const entryOf = (phase: ModelPhase, more: Partial<ModelEntry> = {}): ModelEntry => ({
  id: 'smollm2',
  phase,
  message: '',
  reason: '',
  features: [],
  ...more,
})

describe('waitText', () => {
  const listed = (phase: ModelPhase, observedAt: number, message = '') => ({
    entry: entryOf(phase, { message }),
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

  test('says what happens in plain words, never with the name of a Pod', () => {
    const heard = { ...waking, wakingDetail: 'Waking, model-smollm2-1a2b3-x7k2p is starting', wakingHeardAt: 3_900 }
    const starting = entryOf('Waking', { reason: 'Starting', message: 'model-smollm2-1a2b3-x7k2p is starting.' })
    const told = 'The program that runs it is being started.'
    expect(waitText(heard, { entry: starting, observedAt: 3_500 }, 4_000).detail).toBe(told)
    expect(waitText(heard, listed('Asleep', 500), 4_000).detail).toBe('Waking, it is starting')
  })

  test('says how far a model is that loads, and how long it took last time', () => {
    const heard = { ...waking, wakingDetail: 'Waking, The model has been loading', wakingHeardAt: 3_900 }
    const loading = { phase: 'Reading' as const, percent: 45, bytes: 2.1e9, totalBytes: 4.7e9, stalled: false }
    const entry = entryOf('Waking', { message: 'm', loading, lastLoadSeconds: 1_510 })
    expect(waitText(heard, { entry, observedAt: 3_000 }, 4_000)).toEqual({
      waking: true,
      headline: 'Waking smollm2… 3 s',
      detail: 'Reading its files: 45 %, 2.1 of 4.7 GB. Last time it took about 25 min.',
      percent: 45,
    })
    // What a list said before the question is about another wait.
    expect(waitText(heard, { entry, observedAt: 900 }, 4_000).detail).toBe('Waking, The model has been loading')
    const unknown = { entry: { ...entry, loading: undefined, message: '' }, observedAt: 3_000 }
    expect(waitText(waking, unknown, 4_000).detail).toBe('Last time it took about 25 min.')
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
  expect(modelSentence(entryOf('Asleep'))).toBe('smollm2 is asleep and costs nothing; it wakes when you write.')
  const failed = 'smollm2 could not start: no card is free. Writing tries again.'
  expect(modelSentence(entryOf('Failed', { message: 'no card is free.' }))).toBe(failed)
  const never = { reason: 'FilesMissing', message: 'Asleep, and cannot wake: no card is free.' }
  expect(modelSentence(entryOf('Asleep', never))).toBe(failed)
})
