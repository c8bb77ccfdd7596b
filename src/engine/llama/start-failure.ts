import { SluiceError, errorMessage } from '../../foundation/errors.ts'

/** Why a model cannot be served, as whoever started it is told. */
export function asStartFailure(error: unknown): Error {
  if (error instanceof SluiceError) return error
  return new SluiceError('engine_start_failed', { reason: errorMessage(error) }, { cause: error })
}
