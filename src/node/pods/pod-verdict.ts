import type { Pod } from '../../resources/pod.ts'
import type { ContainerMemory } from '../containers/container-memory.ts'

/** Why the node ends a Pod as failed, and how long its containers get for it. */
export interface PodVerdict {
  readonly reason: 'DeadlineExceeded' | 'Evicted' | `OutOf${string}`
  readonly message: string
  readonly graceMs: number
}

/** Longer waits are split, since timers take no more than 24 days. */
const longestWaitMs = 24 * 60 * 60_000

/** When a Pod's `activeDeadlineSeconds` are over, counted from when the node took it on. */
export function deadlineOf(pod: Pod, startedAt: number | undefined): number | undefined {
  const { activeDeadlineSeconds } = pod.spec
  return activeDeadlineSeconds === undefined || startedAt === undefined
    ? undefined
    : startedAt + activeDeadlineSeconds * 1000
}

/** When to check the deadline again. */
export function lookAt(deadline: number | undefined, now: number): number {
  return deadline === undefined ? Infinity : Math.min(deadline, now + longestWaitMs)
}

export function deadlineExceeded(pod: Pod): PodVerdict {
  return {
    reason: 'DeadlineExceeded',
    message: 'Pod was active on the node longer than the specified deadline',
    graceMs: pod.spec.terminationGracePeriodSeconds * 1000,
  }
}

/** The kubelet gives a Pod evicted for its storage one second. */
const evictionGraceMs = 1000

export function evicted(message: string): PodVerdict {
  return { reason: 'Evicted', message, graceMs: evictionGraceMs }
}

/** As the kubelet calls what a node does not have (any more). */
export function outOfCards({ kind, message }: { readonly kind: string; readonly message: string }): PodVerdict {
  return { reason: `OutOf${kind}`, message: `Pod cannot run here: ${message}`, graceMs: evictionGraceMs }
}

/**
 * The containers as shown once nothing of the Pod will run: one that should have run but is not here counts as ended.
 */
export function afterVerdict(
  memories: readonly ContainerMemory[],
  initialized: boolean,
  now: number,
): readonly ContainerMemory[] {
  const message = 'The container could not be located when the pod was terminated'
  const exit = { exitCode: 137, reason: 'ContainerStatusUnknown' as const, message, finishedAt: now }
  return memories.map((memory) =>
    memory.state.type === 'waiting' && (initialized || memory.restarts > 0)
      ? { ...memory, state: { type: 'exited', exit, startedAt: now } }
      : memory,
  )
}
