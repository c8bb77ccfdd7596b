import { describe, expect, it } from 'vitest'
import type { ModelLoading } from '../../resources/model.ts'
import { loadStateOf } from './load-state.ts'
import { loadingText } from './shown-loading.ts'

describe('what a program that is not ready says of its load', () => {
  it.each([
    [
      { status: 'loading', phase: 'reading', bytes: 450, totalBytes: 1000, stillSeconds: 3 },
      { phase: 'Reading', bytes: 450, totalBytes: 1000, percent: 45, stillMs: 3000 },
    ],
    [
      { phase: 'weights', bytes: 9.5, totalBytes: 10 },
      { phase: 'Loading', bytes: 9, totalBytes: 10, percent: 90 },
    ],
    [
      { phase: 'copying', bytes: 20, totalBytes: 10 },
      { phase: 'Copying', bytes: 20, totalBytes: 10, percent: 100 },
    ],
    [{ phase: 'starting', bytes: 0, totalBytes: 0 }, { phase: 'Starting' }],
    [
      { phase: 'a word of its own', bytes: 1, totalBytes: 2 },
      { phase: 'Loading', bytes: 1, totalBytes: 2, percent: 50 },
    ],
    [
      { phase: 'constructor', bytes: 1, totalBytes: 2 },
      { phase: 'Loading', bytes: 1, totalBytes: 2, percent: 50 },
    ],
  ])('%j', (body, state) => {
    expect(loadStateOf(body)).toEqual(state)
  })

  it.each([
    undefined,
    null,
    'OK',
    { status: 'ok' },
    { error: { message: 'Loading model' } },
    { phase: 'reading' },
    { phase: 'reading', bytes: -1, totalBytes: 10 },
    { phase: 'reading', bytes: '1', totalBytes: 10 },
    { phase: 'reading', bytes: 1e300, totalBytes: 1e301 },
    { phase: 'x'.repeat(200), bytes: 1, totalBytes: 10 },
  ])('is nothing: %j', (body) => {
    expect(loadStateOf(body)).toBeUndefined()
  })
})

describe('a load in words', () => {
  const loading = (more: Partial<ModelLoading>): ModelLoading => ({
    phase: 'Reading',
    progress: '',
    since: '',
    movedAt: '',
    ...more,
  })

  it.each([
    [{}, 'its files are being read'],
    [{ percent: 45 }, 'its files are being read, 45 %'],
    [{ percent: 45, bytes: 2.1e9, totalBytes: 4.66e9 }, 'its files are being read, 45 % (2.1 of 4.7 GB)'],
    [{ percent: 0, bytes: 310e9, totalBytes: 640e9 }, 'its files are being read, 0 % (310 of 640 GB)'],
    [{ percent: 100, bytes: 800, totalBytes: 800 }, 'its files are being read, 100 % (800 of 800 B)'],
    [{ phase: 'Preparing' as const }, 'the engine is preparing to answer'],
    [{ percent: 4, stalled: true }, 'its files are being read, 4 %, but nothing has moved for a while'],
  ])('%j', (more, text) => {
    expect(loadingText(loading(more))).toBe(text)
  })
})
