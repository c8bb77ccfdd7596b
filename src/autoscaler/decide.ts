import type { DemandSample } from './demand.ts'

export interface ScaleSettings {
  readonly minReplicas: number
  readonly maxReplicas: number
  /** The number of requests per Pod to aim for. */
  readonly targetRequests: number
  /** The time between the decision to scale down and the scale-down. */
  readonly scaleDownDelayMs: number
  /** The last Pods go after this long without an active or waiting request. */
  readonly idleWindowMs: number
  /** How many replicas the cards allow, if that is known. The first one is always wanted: it may wait for a card. */
  readonly replicasThatFit?: number | undefined
}

export interface DecideInput {
  readonly now: number
  /** Oldest first and without gaps: after missing data the list starts afresh. */
  readonly samples: readonly DemandSample[]
  readonly settings: ScaleSettings
  /** The replicas wanted so far. */
  readonly current: number
}

export type ScaleReason =
  | 'RaisedToMinimum'
  | 'LoweredToMaximum'
  | 'Woken'
  | 'ScaledUp'
  | 'ScaledDown'
  | 'ScaledToZero'
  | 'CardTaken'

export interface ScaleDecision {
  readonly replicas: number
  readonly reason: ScaleReason
  /** The same for people. */
  readonly message: string
}

/** A step up is sized by the peak of this window, so that a burst gets its replicas in one decision. */
export const upWindowMs = 6_000
/** A step down to more than zero follows the peak of this window. */
export const downWindowMs = 60_000
/** If the newest sample is older than this, there is no data. */
export const staleAfterMs = 5_000

/**
 * How many replicas a model should have. Everything is derived from the samples, so nothing is remembered between
 * calls: "fewer replicas were wanted for `scaleDownDelayMs`" is the same as "the peak of the window plus the delay asks
 * for fewer".
 */
export function decide({ now, samples, settings, current }: DecideInput): ScaleDecision | 'hold' {
  const { minReplicas, maxReplicas } = settings
  if (current < minReplicas) {
    return { replicas: minReplicas, reason: 'RaisedToMinimum', message: `minReplicas is ${minReplicas}` }
  }
  if (current > maxReplicas) {
    return { replicas: maxReplicas, reason: 'LoweredToMaximum', message: `maxReplicas is ${maxReplicas}` }
  }
  const newest = samples.at(-1)
  if (newest === undefined || now - newest.at > staleAfterMs) return 'hold'
  return decideUp(now, samples, newest, settings, current) ?? decideDown(now, samples, newest, settings, current)
}

/**
 * When the last replicas go if nobody asks until then; undefined while somebody does, while demand is not known, and
 * for a model that never sleeps.
 */
export function sleepsAt({ now, samples, settings, current }: DecideInput): number | undefined {
  const newest = samples.at(-1)
  if (current === 0 || settings.minReplicas > 0 || newest === undefined || demandOf(newest) > 0) return undefined
  return lastDemandAt(samples, now) + settings.idleWindowMs + settings.scaleDownDelayMs
}

function decideUp(
  now: number,
  samples: readonly DemandSample[],
  newest: DemandSample,
  settings: ScaleSettings,
  current: number,
): ScaleDecision | undefined {
  // Only who waits wakes a model. Requests before it fell asleep are still inside the window, and what is active is
  // answered by Pods that end after that, such as of a model that somebody puts to sleep.
  if (current === 0 && newest.waiting === 0) return undefined
  const peak = peakSince(samples, now - upWindowMs)
  const most = Math.min(settings.maxReplicas, Math.max(1, settings.replicasThatFit ?? settings.maxReplicas))
  const replicas = Math.min(replicasFor(peak, settings), most)
  if (replicas <= current) return undefined
  const load = `${requests(peak)} for a target of ${settings.targetRequests} per Pod`
  if (current === 0) return { replicas, reason: 'Woken', message: `a request arrived: ${load}` }
  return { replicas, reason: 'ScaledUp', message: load }
}

function decideDown(
  now: number,
  samples: readonly DemandSample[],
  newest: DemandSample,
  settings: ScaleSettings,
  current: number,
): ScaleDecision | 'hold' {
  const { minReplicas, idleWindowMs, scaleDownDelayMs } = settings
  if (current <= minReplicas || newest.waiting > 0) return 'hold'

  const idleMs = now - lastDemandAt(samples, now)
  if (idleMs >= idleWindowMs + scaleDownDelayMs) {
    const reason = minReplicas === 0 ? 'ScaledToZero' : 'ScaledDown'
    return { replicas: minReplicas, reason, message: `no request for ${Math.floor(idleMs / 1000)} s` }
  }

  const since = now - downWindowMs - scaleDownDelayMs
  const watchedFrom = samples[0]?.at ?? now
  if (watchedFrom > since) return 'hold'
  const peak = peakSince(samples, since)
  // The last replica goes by the idle window alone.
  const replicas = Math.max(minReplicas, 1, replicasFor(peak, settings))
  if (replicas >= current) return 'hold'
  const message = `${requests(peak)} at most for a target of ${settings.targetRequests} per Pod`
  return { replicas, reason: 'ScaledDown', message }
}

/** When there was last demand; if there was none, when watching began: a fresh start restarts the idle window. */
function lastDemandAt(samples: readonly DemandSample[], now: number): number {
  return samples.findLast((sample) => demandOf(sample) > 0)?.at ?? samples[0]?.at ?? now
}

function peakSince(samples: readonly DemandSample[], since: number): number {
  let peak = 0
  for (let index = samples.length - 1; index >= 0; index--) {
    const sample = samples[index]
    if (sample === undefined || sample.at < since) break
    peak = Math.max(peak, demandOf(sample))
  }
  return peak
}

function replicasFor(peak: number, { minReplicas, maxReplicas, targetRequests }: ScaleSettings): number {
  return Math.min(maxReplicas, Math.max(minReplicas, Math.ceil(peak / targetRequests)))
}

function demandOf(sample: DemandSample): number {
  return sample.active + sample.waiting
}

function requests(count: number): string {
  return count === 1 ? '1 request' : `${count} requests`
}
