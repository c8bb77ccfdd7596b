import { expect, test } from 'vitest'
import { lastTimeSentence, loadingSentence, parseLoading } from './loading.ts'

const reading = {
  phase: 'Reading',
  percent: 45,
  bytes: 2.1e9,
  totalBytes: 4.66e9,
  progress: '45 %',
  since: '',
  movedAt: '',
}

test('reads how far a model is, and nothing from a server that tells something else', () => {
  expect(parseLoading(reading)).toEqual({
    phase: 'Reading',
    percent: 45,
    bytes: 2.1e9,
    totalBytes: 4.66e9,
    stalled: false,
  })
  expect(parseLoading({ phase: 'Loading', percent: 1e9, bytes: '5', stalled: 'yes' })).toEqual({
    phase: 'Loading',
    percent: 100,
    bytes: undefined,
    totalBytes: undefined,
    stalled: false,
  })
  for (const value of [undefined, null, 'Reading', {}, { phase: 'Dancing' }])
    expect(parseLoading(value)).toBeUndefined()
})

test('says it in plain words', () => {
  const said = (more: object) => {
    const loading = parseLoading({ ...reading, ...more })
    return loading && loadingSentence(loading)
  }
  expect(said({})).toBe('Reading its files: 45 %, 2.1 of 4.7 GB.')
  expect(said({ bytes: undefined })).toBe('Reading its files: 45 %.')
  expect(said({ phase: 'Preparing', percent: undefined })).toBe('Almost there: it prepares to answer.')
  expect(said({ stalled: true })).toBe(
    'Reading its files: 45 %, 2.1 of 4.7 GB. Nothing has moved for a while; its disk may be stuck.',
  )
})

test('says how long it took last time, if that is worth a word', () => {
  expect([undefined, 1, 42, 100, 1_510].map(lastTimeSentence)).toEqual([
    '',
    '',
    'Last time it took about 42 s.',
    'Last time it took about 2 min.',
    'Last time it took about 25 min.',
  ])
})
