import { SluiceError } from '../../foundation/errors.ts'
import { ForwardError } from '../exchange.ts'

/** Whether the error says all there is to know, or the log should keep it. */
export function isExpected(error: unknown): boolean {
  return error instanceof SluiceError || error instanceof ForwardError
}

/** What a client may be told about a failure: nothing internal. */
export function codedFailure(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error
  if (error instanceof ForwardError) return new SluiceError('bad_gateway', { reason: error.message })
  return new SluiceError('internal_error')
}
