import { isStatusError } from '../resources/status-error.ts'

/** For what is to be deleted or told about something that may be gone by now. */
export function ignoreGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound')) throw error
}

/** The same where somebody else's newer write is as good: it wakes the controller again. */
export function ignoreGoneOrChanged(error: unknown): void {
  if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
}
