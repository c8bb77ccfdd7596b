import { isStatusError } from '../resources/status-error.ts'

/** Ignores that the object of a deletion or a status update is already gone. */
export function ignoreGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound')) throw error
}

/** Also ignores that somebody else wrote first: their change wakes the controller again. */
export function ignoreGoneOrChanged(error: unknown): void {
  if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
}
