import { expect, it } from 'vitest'
import { shownSpan } from './shown-span.ts'

it('shows no more time than there are samples for, and at most an hour', () => {
  expect([0, 60, 61, 181, 5_000].map((samples) => shownSpan(samples).places)).toEqual([60, 60, 180, 360, 360])
})
