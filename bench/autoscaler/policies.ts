import { decide } from '../../src/autoscaler/decide.ts'
import { DemandHistory } from '../../src/autoscaler/demand-history.ts'
import type { Trace } from './traces.ts'

/** What a policy sees at a tick. */
export interface Observation {
  /** Seconds since the start. */
  readonly at: number
  readonly active: number
  readonly waiting: number
  /** The number of requests, including waiting ones, averaged over the last second. */
  readonly concurrency: number
  readonly lastActiveAt: number | undefined
  readonly replicas: number
  readonly ready: number
}

/** A rule for the number of replicas. Under every policy, a request that finds no Pod starts one at once. */
export interface Policy {
  readonly name: string
  readonly everySeconds: number
  replicas(seen: Observation): number
}

export interface PolicySettings {
  readonly idleWindowSeconds: number
  readonly scaleDownDelaySeconds: number
}

type MakePolicy = (trace: Trace, settings: PolicySettings) => Policy

/** Sluice's own policy: the same `decide`, with the same history. */
export const sluice: MakePolicy = ({ targetRequests, maxReplicas }, { idleWindowSeconds, scaleDownDelaySeconds }) => {
  const history = new DemandHistory()
  const [idleWindowMs, scaleDownDelayMs] = [idleWindowSeconds * 1000, scaleDownDelaySeconds * 1000]
  const settings = { minReplicas: 0, maxReplicas, targetRequests, idleWindowMs, scaleDownDelayMs }
  return {
    name: 'sluice',
    everySeconds: 1,
    replicas({ at, active, waiting, lastActiveAt, replicas }) {
      const now = at * 1000
      const lastMs = lastActiveAt === undefined ? undefined : lastActiveAt * 1000
      history.record(now, { active, waiting }, idleWindowMs + scaleDownDelayMs, lastMs)
      const decision = decide({ now, samples: history.samples, settings, current: replicas })
      return decision === 'hold' ? replicas : decision.replicas
    },
  }
}

/** Keeps every Pod for the idle window after it was last needed, as function platforms do. */
const keepAlive: MakePolicy = ({ targetRequests, maxReplicas }, { idleWindowSeconds }) => {
  const neededAt: number[] = []
  return {
    name: `keep-alive ${idleWindowSeconds} s`,
    everySeconds: 1,
    replicas({ at, active, waiting, lastActiveAt }) {
      const passed = lastActiveAt !== undefined && lastActiveAt > at - 1 ? 1 : 0
      const needed = Math.min(maxReplicas, Math.max(passed, Math.ceil((active + waiting) / targetRequests)))
      for (let index = 0; index < needed; index++) neededAt[index] = at
      while ((neededAt.at(-1) ?? at) < at - idleWindowSeconds) neededAt.pop()
      return neededAt.length
    },
  }
}

/**
 * KubeAI: averages the last ten minutes, every 3 s. Scales down only after as many such results in a row as fill the
 * delay.
 */
const kubeai: MakePolicy = ({ targetRequests, maxReplicas }, { scaleDownDelaySeconds }) => {
  const everySeconds = 3
  const window = new Float64Array(600 / everySeconds)
  let ticks = 0
  let downs = 0
  return {
    name: 'KubeAI',
    everySeconds,
    replicas({ active, waiting, replicas }) {
      window[ticks++ % window.length] = active + waiting
      const average = window.reduce((sum, count) => sum + count, 0) / window.length
      const wanted = Math.min(maxReplicas, Math.ceil(average / targetRequests))
      downs = wanted < replicas ? downs + 1 : 0
      return wanted < replicas && downs <= Math.ceil(scaleDownDelaySeconds / everySeconds) ? replicas : wanted
    },
  }
}

/**
 * Knative's KPA with its defaults: a stable window of 60 s, a panic window of 6 s at twice the ready capacity, 70 % of
 * the target, and 30 s of grace before zero.
 */
const knative: MakePolicy = ({ targetRequests, maxReplicas }) => {
  const [stableSeconds, panicSeconds, graceSeconds, utilization] = [60, 6, 30, 0.7]
  const window: number[] = []
  let panicUntil = -1
  let panicReplicas = 0
  let zeroSince: number | undefined
  return {
    name: 'Knative KPA',
    everySeconds: 1,
    replicas({ at, concurrency, replicas, ready }) {
      window.push(concurrency)
      if (window.length > stableSeconds) window.shift()
      const wantedFor = (counts: readonly number[]) =>
        Math.min(maxReplicas, Math.ceil(mean(counts) / (targetRequests * utilization)))
      const [stable, panic] = [wantedFor(window), wantedFor(window.slice(-panicSeconds))]
      if (panic >= 2 * Math.max(1, ready)) panicUntil = at + stableSeconds
      const isPanicking = at < panicUntil
      panicReplicas = isPanicking ? Math.max(panicReplicas, panic, replicas) : 0
      const wanted = isPanicking ? panicReplicas : Math.max(stable, Math.floor(replicas / 2))
      const isIdle = window.every((count) => count === 0)
      if (!isIdle || isPanicking) {
        zeroSince = undefined
        return Math.max(1, wanted)
      }
      zeroSince ??= at
      return at - zeroSince >= graceSeconds ? 0 : Math.min(replicas, 1)
    },
  }
}

export const policies: readonly MakePolicy[] = [sluice, keepAlive, kubeai, knative]

function mean(counts: readonly number[]): number {
  return counts.length === 0 ? 0 : counts.reduce((sum, count) => sum + count, 0) / counts.length
}
