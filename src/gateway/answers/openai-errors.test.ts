import { describe, expect, it } from 'vitest'
import { type ErrorCode, type ErrorDetails, SluiceError } from '../../foundation/errors.ts'
import { codedError, errorAnswer } from './openai-errors.ts'

const render = (code: ErrorCode, details: ErrorDetails = {}) =>
  errorAnswer(new SluiceError(code, details), [['x-request-id', 'r']])

describe('errorAnswer', () => {
  it.each([
    ['model_not_found', 404, 'invalid_request_error', 'model'],
    ['model_required', 400, 'invalid_request_error', 'model'],
    ['invalid_api_key', 401, 'invalid_request_error', null],
    ['api_key_expired', 401, 'invalid_request_error', null],
    ['key_disabled', 403, 'invalid_request_error', null],
    ['model_not_allowed', 403, 'invalid_request_error', 'model'],
    ['invalid_json', 400, 'invalid_request_error', null],
    ['body_too_large', 413, 'invalid_request_error', null],
    ['waiting_room_full', 429, 'rate_limit_error', null],
    ['model_unavailable', 503, 'server_error', null],
    ['upstream_failed', 502, 'server_error', null],
  ] as const)('renders %s as %i %s', (code, status, type, param) => {
    const answer = render(code)
    expect(answer.status).toBe(status)
    expect(JSON.parse(String(answer.body))).toEqual({ error: { message: expect.any(String), type, code, param } })
  })

  it('says when to come back', () => {
    expect(render('waiting_room_full', { retryAfterSeconds: 7 }).headers).toContainEqual(['retry-after', '7'])
    expect(render('stopping').headers).toContainEqual(['retry-after', '5'])
    expect(render('model_unavailable').headers).toContainEqual(['x-should-retry', 'false'])
    expect(render('model_not_found').headers).toEqual([
      ['x-request-id', 'r'],
      ['content-type', 'application/json'],
    ])
  })

  it('says how to show who one is', () => {
    expect(render('invalid_api_key').headers).toContainEqual(['www-authenticate', 'Bearer'])
  })

  it('names the methods that are taken', () => {
    expect(render('method_not_allowed', { allowed: 'POST, OPTIONS' }).headers).toContainEqual([
      'allow',
      'POST, OPTIONS',
    ])
  })

  it('tells nothing of what went wrong inside', () => {
    expect(codedError(new Error('secret')).message).not.toContain('secret')
  })
})
