import type { Observation, Policy } from './policies.ts'
import type { Arrival, Trace } from './traces.ts'

export interface Outcome {
  readonly podSeconds: number
  readonly requests: number
  /** Requests that found no Pod ready. */
  readonly coldRequests: number
  /** Starts of a Pod when there was none. */
  readonly coldStarts: number
  /** The total waiting time of the cold requests. */
  readonly waitedSeconds: number
  /** The total of requests beyond the target, in request seconds: the cost of having too few Pods. */
  readonly crowdedSeconds: number
}

interface SimulatedPod {
  readonly createdAt: number
  readonly readyAt: number
  leaving: boolean
  /** When each of its requests will end. */
  readonly ends: number[]
}

/**
 * Replays a trace second by second with a policy. A Pod that is scaled down finishes its requests, and is taken back if
 * it is needed again before that. `watch` is told what there is at the end of each second.
 */
export function simulate(
  trace: Trace,
  policy: Policy,
  coldStartSeconds: number,
  watch?: (seen: Observation) => void,
): Outcome {
  const world = new World(trace, coldStartSeconds)
  for (let at = 1; at <= trace.seconds; at++) {
    world.advance(at)
    if (at % policy.everySeconds === 0) world.scale(policy.replicas(world.observe(at)), at)
    watch?.(world.observe(at))
  }
  return world.finish()
}

class World {
  readonly #trace: Trace
  readonly #coldStartSeconds: number
  readonly #pods = new Set<SimulatedPod>()
  #waiting: Arrival[] = []
  #next = 0
  #concurrency = 0
  #lastActiveAt: number | undefined
  #podSeconds = 0
  #coldRequests = 0
  #coldStarts = 0
  #waitedSeconds = 0
  #crowdedSeconds = 0

  constructor(trace: Trace, coldStartSeconds: number) {
    this.#trace = trace
    this.#coldStartSeconds = coldStartSeconds
  }

  advance(at: number): void {
    this.#admit(at)
    for (;;) {
      const arrival = this.#trace.arrivals[this.#next]
      if (!arrival || arrival.at > at) break
      this.#next++
      this.#arrive(arrival)
    }
    this.#endRequests(at)
    const active = this.#active()
    this.#concurrency = active + this.#waiting.length
    if (this.#concurrency > 0) this.#lastActiveAt = at
    const room = this.#usable(at).length * this.#trace.targetRequests
    this.#crowdedSeconds += Math.max(0, active - room)
  }

  observe(at: number): Observation {
    return {
      at,
      active: this.#active(),
      waiting: this.#waiting.length,
      concurrency: this.#concurrency,
      lastActiveAt: this.#lastActiveAt,
      replicas: this.#staying().length,
      ready: this.#usable(at).length,
    }
  }

  scale(replicas: number, at: number): void {
    const staying = this.#staying()
    for (let missing = replicas - staying.length; missing > 0; missing--) this.#recallOrCreate(at)
    const leastBusy = staying.toSorted((one, other) => one.ends.length - other.ends.length)
    for (const pod of leastBusy.slice(0, Math.max(0, staying.length - replicas))) {
      pod.leaving = true
      if (pod.ends.length === 0) this.#remove(pod, at)
    }
  }

  finish(): Outcome {
    for (const pod of this.#pods) this.#remove(pod, this.#trace.seconds)
    return {
      podSeconds: this.#podSeconds,
      requests: this.#trace.arrivals.length,
      coldRequests: this.#coldRequests,
      coldStarts: this.#coldStarts,
      waitedSeconds: this.#waitedSeconds,
      crowdedSeconds: this.#crowdedSeconds,
    }
  }

  #arrive(arrival: Arrival): void {
    this.#lastActiveAt = arrival.at
    const pod = leastBusy(this.#usable(arrival.at))
    if (pod) {
      pod.ends.push(arrival.at + arrival.takes)
      return
    }
    this.#coldRequests++
    if (this.#staying().length === 0) this.#recallOrCreate(arrival.at)
    this.#waiting.push(arrival)
    this.#admit(arrival.at)
  }

  #admit(at: number): void {
    if (this.#waiting.length === 0) return
    const usable = this.#usable(at)
    if (usable.length === 0) return
    const readyAt = Math.min(...usable.map((pod) => pod.readyAt))
    for (const { at: askedAt, takes } of this.#waiting) {
      const startsAt = Math.max(readyAt, askedAt)
      this.#waitedSeconds += startsAt - askedAt
      leastBusy(usable)?.ends.push(startsAt + takes)
    }
    this.#waiting = []
  }

  #endRequests(at: number): void {
    for (const pod of this.#pods) {
      const left = pod.ends.filter((end) => end > at)
      pod.ends.splice(0, pod.ends.length, ...left)
      if (pod.leaving && left.length === 0) this.#remove(pod, at)
    }
  }

  #recallOrCreate(at: number): void {
    for (const pod of this.#pods) {
      if (!pod.leaving) continue
      pod.leaving = false
      return
    }
    if (this.#pods.size === 0) this.#coldStarts++
    this.#pods.add({ createdAt: at, readyAt: at + this.#coldStartSeconds, leaving: false, ends: [] })
  }

  #remove(pod: SimulatedPod, at: number): void {
    this.#podSeconds += at - pod.createdAt
    this.#pods.delete(pod)
  }

  #active(): number {
    let active = 0
    for (const { ends } of this.#pods) active += ends.length
    return active
  }

  #staying(): SimulatedPod[] {
    return [...this.#pods].filter(({ leaving }) => !leaving)
  }

  #usable(at: number): SimulatedPod[] {
    return this.#staying().filter(({ readyAt }) => readyAt <= at)
  }
}

function leastBusy(pods: readonly SimulatedPod[]): SimulatedPod | undefined {
  let best: SimulatedPod | undefined
  for (const pod of pods) if (!best || pod.ends.length < best.ends.length) best = pod
  return best
}

/**
 * The optimum with knowledge of the future. Each Pod is started just early enough to be ready when it is needed. It
 * stops as soon as it is not, unless it is needed again before another could be ready. No request waits, and no policy
 * can achieve that with fewer Pod-seconds.
 */
export function clairvoyant(trace: Trace, coldStartSeconds: number): Outcome {
  const changes = trace.arrivals
    .flatMap(({ at, takes }) => [
      { at, by: 1 },
      { at: at + takes, by: -1 },
    ])
    .toSorted((one, other) => one.at - other.at || one.by - other.by)
  let active = 0
  let podSeconds = 0
  let coldStarts = 0
  /** Since when the nth Pod is not needed. It counts as running until starting a new one would be cheaper. */
  const freeSince: Array<number | undefined> = []
  let before = 0
  for (const { at, by } of changes) {
    const needed = podsFor(active, trace)
    podSeconds += needed * (at - before)
    active += by
    before = at
    const now = podsFor(active, trace)
    for (let pod = now; pod < needed; pod++) freeSince[pod] = at
    for (let pod = needed; pod < now; pod++) {
      const since = freeSince[pod]
      const gap = since === undefined ? Infinity : at - since
      podSeconds += Math.min(gap, coldStartSeconds)
      if (gap > coldStartSeconds && pod === 0) coldStarts++
    }
  }
  return {
    podSeconds,
    requests: trace.arrivals.length,
    coldRequests: 0,
    coldStarts,
    waitedSeconds: 0,
    crowdedSeconds: 0,
  }
}

function podsFor(active: number, { targetRequests, maxReplicas }: Trace): number {
  return Math.min(maxReplicas, Math.ceil(active / targetRequests))
}
