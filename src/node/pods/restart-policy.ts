import type { Pod } from '../../resources/pod.ts'

export type RestartPolicy = Pod['spec']['restartPolicy']

const firstDelayMs = 10_000
const longestDelayMs = 5 * 60_000
/** After running this long a container counts as healthy, and its next crash as the first. */
const healthyRunMs = 10 * 60_000

export function shouldRestart(policy: RestartPolicy, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

/** The delay before an exited container starts again: none the first time, then 10 s, doubling up to 5 min. */
export interface CrashBackoff {
  readonly delayMs: number
  readonly nextDelayMs: number
}

export const noBackoff: CrashBackoff = { delayMs: 0, nextDelayMs: 0 }

export function backoffAfterExit(backoff: CrashBackoff, ranMs: number): CrashBackoff {
  const delayMs = ranMs >= healthyRunMs ? 0 : backoff.nextDelayMs
  return { delayMs, nextDelayMs: Math.min(longestDelayMs, delayMs === 0 ? firstDelayMs : delayMs * 2) }
}
