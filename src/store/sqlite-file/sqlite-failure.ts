import { SluiceError, errorMessage } from '../../foundation/errors.ts'

/** SQLite's result codes, without the extension in the upper bits. */
const corrupt = 11
const notADatabase = 26

/** Turns an error of SQLite into one for the users of the store. */
export function storeFailure(error: unknown, path: string): SluiceError {
  if (error instanceof SluiceError) return error
  const details = { path, reason: errorMessage(error) }
  return new SluiceError(isCorruption(error) ? 'store_corrupt' : 'store_unavailable', details, { cause: error })
}

function isCorruption(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return false
  const code = Number(error.errcode) & 0xff
  return code === corrupt || code === notADatabase
}
