import type { Pod } from '../../resources/pod.ts'

export type RestartPolicy = Pod['spec']['restartPolicy']

const firstDelayMs = 10_000
const longestDelayMs = 5 * 60_000
/** A container that ran this long was healthy: its next crash is a first one again. */
const healthyRunMs = 10 * 60_000

export function shouldRestart(policy: RestartPolicy, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

/**
 * How long a container that exited waits before its next start: not at all the first time, then 10 s doubling to 5 min.
 */
export interface CrashBackoff {
  readonly delayMs: number
  readonly nextDelayMs: number
}

export const noBackoff: CrashBackoff = { delayMs: 0, nextDelayMs: 0 }

export function backoffAfterExit(backoff: CrashBackoff, ranMs: number): CrashBackoff {
  const delayMs = ranMs >= healthyRunMs ? 0 : backoff.nextDelayMs
  return { delayMs, nextDelayMs: Math.min(longestDelayMs, delayMs === 0 ? firstDelayMs : delayMs * 2) }
}
