import { SluiceError } from '../../foundation/errors.ts'
import { ForwardError } from '../exchange.ts'

/** Whether the error explains itself, so that it need not be logged. */
export function isExpected(error: unknown): boolean {
  return error instanceof SluiceError || error instanceof ForwardError
}

/** What a client may know about a failure: nothing internal. */
export function codedFailure(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error
  if (error instanceof ForwardError) return new SluiceError('bad_gateway', { reason: error.message })
  return new SluiceError('internal_error')
}
