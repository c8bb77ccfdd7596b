import { SluiceError } from '../../foundation/errors.ts'

export interface RenderedError {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly error: { message: string; type: string; code: string; param: string | null } }
}

/** Any thrown value as an error of the OpenAI API. Errors that are not ours are reported without their details. */
export function renderOpenAiError(thrown: unknown): RenderedError {
  const error = thrown instanceof SluiceError ? thrown : new SluiceError('internal_error')
  const { param, retryAfterSeconds, allowed } = error.details
  return {
    status: error.status,
    headers: {
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(error.status === 405 && allowed !== undefined ? { allow: String(allowed) } : {}),
    },
    body: {
      error: {
        message: error.message,
        type: errorType(error.status),
        code: error.code,
        param: param === undefined || param === '' ? null : String(param),
      },
    },
  }
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
