/** The kubelet's delays for setting up volumes and devices: half a second, doubling up to 2 min 2 s. */
const firstDelayMs = 500
const longestDelayMs = 122_000

/** When a failed step may be tried again. Immutable. */
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
 * Allows an earlier try, since something it waited for has changed; but keeps a pause, because changes may come in
 * bursts.
 */
export function sooner(backoff: SetupBackoff): SetupBackoff {
  return { ...backoff, retryAt: Math.min(backoff.retryAt, backoff.failedAt + firstDelayMs) }
}
