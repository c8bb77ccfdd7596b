import type { Reconcile } from '../cluster/work-queue.ts'
import { isStatusError } from '../resources/status-error.ts'

const lookAgainMs = 25

/**
 * Somebody else wrote first, or the cache is behind. What is newer is on its way to the cache and wakes the key by
 * itself; looking again soon is for the case that it was there already.
 */
export function retryConflicts(reconcile: Reconcile): Reconcile {
  return async (ref, signal) => {
    try {
      return await reconcile(ref, signal)
    } catch (error) {
      if (isStatusError(error, 'Conflict')) return { requeueAfterMs: lookAgainMs }
      throw error
    }
  }
}
