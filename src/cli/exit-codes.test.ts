import { describe, expect, it } from 'vitest'
import { SluiceError } from '../foundation/errors.ts'
import { exitCodeOf } from './exit-codes.ts'

describe('the exit code of', () => {
  const interrupted = new AbortController()
  interrupted.abort()

  it.each([
    ['what Ctrl-C aborted', interrupted.signal.reason, 130],
    ['what nobody listens at', new SluiceError('nothing_runs'), 4],
    ['what took too long', new SluiceError('not_in_time'), 5],
    ['wrong words', new SluiceError('invalid_flag'), 2],
    ['a bug', new TypeError('x is not a function'), 1],
  ])('%s', (_what, error, code) => {
    expect(exitCodeOf(error)).toBe(code)
  })
})
