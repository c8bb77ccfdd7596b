import type { Deployment } from '../../resources/deployment.ts'
import { resolveNumberOrPercent } from '../number-or-percent.ts'

export interface RolloutLimits {
  /** Pods above the wanted number. */
  readonly surge: number
  /** Pods below it. */
  readonly unavailable: number
}

/** How far a rollout may deviate from the wanted number of Pods. Never both zero, or nothing could move. */
export function rolloutLimits({ spec }: Deployment): RolloutLimits {
  const replicas = replicasOf(spec)
  if (isRecreate(spec) || replicas === 0) return { surge: 0, unavailable: 0 }
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {}
  const surge = resolveNumberOrPercent(maxSurge, replicas, 'up')
  const unavailable = resolveNumberOrPercent(maxUnavailable, replicas, 'down')
  const atLeastOne = surge === 0 && unavailable === 0 ? 1 : unavailable
  return { surge, unavailable: Math.min(atLeastOne, replicas) }
}

export function replicasOf({ replicas = 1 }: Pick<Deployment['spec'], 'replicas'>): number {
  return replicas
}

export function isRecreate({ strategy }: Deployment['spec']): boolean {
  return strategy?.type === 'Recreate'
}

/** In Kubernetes, the largest number means "no deadline". */
export function progressDeadlineMs({ spec }: Deployment): number | undefined {
  const seconds = spec.progressDeadlineSeconds
  return seconds === undefined || seconds === 2_147_483_647 ? undefined : seconds * 1000
}
