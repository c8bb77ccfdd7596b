import { describe, expect, it } from 'vitest'
import { humanDuration } from './age.ts'

describe('humanDuration', () => {
  // What kubectl prints for the same times.
  it.each([
    [0, '0s'],
    [119, '119s'],
    [120, '2m'],
    [125, '2m5s'],
    [599, '9m59s'],
    [600, '10m'],
    [3 * 3600 - 1, '179m'],
    [3 * 3600, '3h'],
    [3 * 3600 + 60, '3h1m'],
    [8 * 3600, '8h'],
    [47 * 3600, '47h'],
    [48 * 3600, '2d'],
    [49 * 3600, '2d1h'],
    [8 * 86400, '8d'],
    [729 * 86400, '729d'],
    [730 * 86400, '2y'],
    [-5, '0s'],
  ])('%d s is %s', (seconds, text) => {
    expect(humanDuration(seconds * 1000)).toBe(text)
  })
})
