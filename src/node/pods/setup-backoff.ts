/**
 * The kubelet's figures for what it does around a Pod's containers (volumes, devices): half a second, doubled up to 2
 * min 2 s.
 */
const firstDelayMs = 500
const longestDelayMs = 122_000

/** When something that failed may be tried again. Replaced as a whole, never changed in place. */
export interface SetupBackoff {
  readonly failures: number
  readonly failedAt: number
  readonly retryAt: number
}

export const neverFailed: SetupBackoff = { failures: 0, failedAt: -Infinity, retryAt: -Infinity }

export function afterFailure({ failures }: SetupBackoff, now: number): SetupBackoff {
  const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures, 16))
  return { failures: failures + 1, failedAt: now, retryAt: now + delayMs }
}

/**
 * Something it waited for has changed: worth a try, however long the back-off is by now, but not one for each of many
 * changes.
 */
export function sooner(backoff: SetupBackoff): SetupBackoff {
  return { ...backoff, retryAt: Math.min(backoff.retryAt, backoff.failedAt + firstDelayMs) }
}
