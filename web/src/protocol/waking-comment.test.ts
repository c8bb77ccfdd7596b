import { expect, test } from 'vitest'
import { wakingDetail } from './waking-comment.ts'

test.each([
  ['waking smollm2: starting, 3 s', 'starting'],
  ['waking smollm2: loading weights, 12.5 s', 'loading weights'],
  ['waking smollm2: waiting for a card (2 ahead), 40 s', 'waiting for a card (2 ahead)'],
  ['waking smollm2: 3 s', ''],
  ['waking smollm2', ''],
  ['waking', ''],
  ['Waking smollm2: pulled 3 shards', 'pulled 3 shards'],
])('%s', (comment, detail) => {
  expect(wakingDetail(comment, 'smollm2')).toBe(detail)
})

test('other comments are not about waking', () => {
  expect(wakingDetail('ping', 'smollm2')).toBeUndefined()
  expect(wakingDetail('wakingly odd', 'smollm2')).toBeUndefined()
  expect(wakingDetail('', 'smollm2')).toBeUndefined()
})
