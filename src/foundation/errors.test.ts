import { describe, expect, it } from 'vitest'
import { SluiceError, errorMessage } from './errors.ts'

describe('SluiceError', () => {
  it('says what happened with the facts of the case', () => {
    const error = new SluiceError('model_not_found', { model: 'gpt' })
    expect(error.message).toBe('The model gpt does not exist. The list of models shows those that do.')
    expect(error.status).toBe(404)
    expect(error.code).toBe('model_not_found')
  })

  it('leaves a missing fact visible instead of hiding the message', () => {
    expect(new SluiceError('model_not_found').message).toContain('{model}')
  })

  it('does not let a fact bring in facts of its own', () => {
    expect(new SluiceError('model_not_found', { model: '{pid}', pid: 1 }).message).toContain('{pid}')
  })
})

describe('errorMessage', () => {
  it('speaks for whatever was thrown', () => {
    expect(errorMessage(new Error('no'))).toBe('no')
    expect(errorMessage('no')).toBe('no')
  })
})
