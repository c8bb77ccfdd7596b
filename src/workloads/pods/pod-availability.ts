import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../../resources/pod.ts'

/** Whether a Pod counts for its owner: neither finished nor being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodFinished(pod) && !isPodTerminating(pod)
}

/** When a Pod that stays ready becomes available, in ms; undefined when it is not ready. */
export function availableAt(pod: Pod, minReadySeconds: number): number | undefined {
  if (!isPodReady(pod)) return undefined
  if (minReadySeconds === 0) return 0
  const since = readySince(pod)
  return since === undefined ? undefined : since + minReadySeconds * 1000
}

export function isPodAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const at = availableAt(pod, minReadySeconds)
  return at !== undefined && at <= now
}

export function readySince(pod: Pod): number | undefined {
  const ready = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True')
  const at = Date.parse(ready?.lastTransitionTime ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** How long until the next ready Pod becomes available; undefined when none is about to. */
export function nextAvailabilityMs(pods: readonly Pod[], minReadySeconds: number, now: number): number | undefined {
  const waits = pods.flatMap((pod) => {
    const at = availableAt(pod, minReadySeconds)
    return at !== undefined && at > now ? [at - now] : []
  })
  return waits.length === 0 ? undefined : Math.min(...waits)
}
