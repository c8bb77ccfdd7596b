import type { Reconcile } from '../cluster/work-queue.ts'
import { isStatusError } from '../resources/status-error.ts'

const lookAgainMs = 25

/**
 * Retries soon after a conflict: somebody else wrote first, or the cache is behind. Usually the newer version comes
 * through the cache and triggers the key anyway; this is for when it was there already.
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
