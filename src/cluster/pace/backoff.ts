export interface BackoffLimits {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * How long to wait before trying again after `failures` failures in a row: doubling, capped, and randomly in the upper
 * half of that, so that many who failed together do not come back together. `random` is in [0, 1).
 */
export function backoffMs(failures: number, random: number, limits: BackoffLimits): number {
  const full = Math.min(limits.longestMs, limits.firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)))
  return Math.round(full * (0.5 + random / 2))
}
