import { expect, test } from 'vitest'
import { failureFromBody, failureFromResponse } from './failure.ts'

test("reads the message and code of OpenAI's error object", () => {
  const error = {
    message: 'No model named gpt-9.',
    type: 'invalid_request_error',
    code: 'model_not_found',
    param: 'model',
  }
  expect(failureFromBody({ error })).toEqual({ message: 'No model named gpt-9.', code: 'model_not_found' })
})

test('falls back to the type when there is no code, and to a sentence when there is no message', () => {
  expect(failureFromBody({ error: { type: 'server_error', code: null } })).toEqual({
    message: 'The server reported an error without a message.',
    code: 'server_error',
  })
  expect(failureFromBody({ error: 'plain words' })).toEqual({ message: 'plain words', code: '' })
})

test('a value without an error is no failure', () => {
  for (const body of [undefined, null, 'x', [], {}, { error: null }, { choices: [] }]) {
    expect(failureFromBody(body)).toBeUndefined()
  }
})

test('a response that is not JSON is told by its status', () => {
  expect(failureFromResponse(502, '<html>bad gateway</html>')).toEqual({
    message: 'The gateway answered with status 502.',
    code: 'http_502',
  })
})

test('a huge message is cut', () => {
  expect(failureFromBody({ error: { message: 'x'.repeat(10_000) } })?.message).toHaveLength(2_000)
})
