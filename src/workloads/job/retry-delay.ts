import type { Pod } from '../../resources/pod.ts'

const firstMs = 10_000
const longestMs = 10 * 60_000

/** How long to wait before a Pod is retried: 10 s after the first failure in a row, doubled after each further one. */
export function retryDelayMs(pods: readonly Pod[], now: number): number {
  const succeededAt = Math.max(0, ...pods.filter(({ status }) => status?.phase === 'Succeeded').map(finishedAt))
  const failures = pods
    .filter(({ status }) => status?.phase === 'Failed')
    .map(finishedAt)
    .filter((at) => at > succeededAt)
  if (failures.length === 0) return 0
  return retryDelayAfter(failures.length, Math.max(...failures), now)
}

export function retryDelayAfter(failures: number, lastAt: number, now: number): number {
  const wait = Math.min(firstMs * 2 ** (failures - 1), longestMs)
  return Math.max(0, lastAt + wait - now)
}

/** When its last container ended; if that is unknown, when the Pod was created. */
export function finishedAt(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''))
  const known = ends.filter((at) => !Number.isNaN(at))
  return known.length > 0 ? Math.max(...known) : Date.parse(pod.metadata.creationTimestamp ?? '') || 0
}
