import { Random } from './random.ts'

/** One request: when it comes, and how long it takes once it is served. In seconds. */
export interface Arrival {
  readonly at: number
  readonly takes: number
}

/** The requests for one model over some days. */
export interface Trace {
  readonly name: string
  readonly seconds: number
  readonly targetRequests: number
  readonly maxReplicas: number
  readonly arrivals: readonly Arrival[]
}

const hour = 3_600
const day = 24 * hour

export function makeTraces(seed: number): Trace[] {
  return [officeHours(seed), bursty(seed + 1), sparse(seed + 2), ...azureLike(seed + 3)]
}

/**
 * Two days of a team's use: 9:00 to 18:00 with a dip at noon, a little in the evening, nothing at night. The median
 * answer takes 8 s.
 */
function officeHours(seed: number): Trace {
  const perHour = [0, 0, 0, 0, 0, 0, 2, 30, 240, 600, 700, 650, 300, 550, 700, 680, 600, 350, 90, 40, 30, 20, 8, 2]
  const random = new Random(seed)
  const arrivals: Arrival[] = []
  for (let at = 0; at < 2 * day;) {
    const rate = perHour[Math.floor(at / hour) % 24] ?? 0
    // Thinning would be exact, but hours are long compared with gaps, so stepping over quiet hours is good enough.
    const gap = rate > 0 ? random.exponential(hour / rate) : hour
    at += Math.min(gap, hour)
    if (rate > 0 && gap < hour) arrivals.push({ at, takes: random.logNormal(8, 0.8) })
  }
  return {
    name: 'office hours',
    seconds: 2 * day,
    targetRequests: 4,
    maxReplicas: 8,
    arrivals: within(arrivals, 2 * day),
  }
}

/** A day of batch jobs: 200 to 600 requests within seconds about every 25 minutes, and a few in between. */
function bursty(seed: number): Trace {
  const random = new Random(seed)
  const arrivals: Arrival[] = []
  for (let at = random.exponential(25 * 60); at < day; at += random.exponential(25 * 60)) {
    const count = 200 + Math.floor(random.uniform() * 400)
    for (let index = 0; index < count; index++) {
      arrivals.push({ at: at + random.exponential(5), takes: random.logNormal(6, 0.6) })
    }
  }
  for (let at = 0; at < day; at += random.exponential(600)) arrivals.push({ at, takes: random.logNormal(6, 0.6) })
  return { name: 'bursty', seconds: day, targetRequests: 50, maxReplicas: 12, arrivals: within(arrivals, day) }
}

/** Three days of a model that is used now and then: sessions two hours apart, with 3 to 12 questions each. */
function sparse(seed: number): Trace {
  const random = new Random(seed)
  const arrivals: Arrival[] = []
  for (let start = random.exponential(2 * hour); start < 3 * day; start += random.exponential(2 * hour)) {
    let at = start
    for (let left = 3 + Math.floor(random.uniform() * 10); left > 0; left--) {
      arrivals.push({ at, takes: random.logNormal(10, 0.7) })
      at += 15 + random.exponential(75)
    }
  }
  return { name: 'sparse', seconds: 3 * day, targetRequests: 4, maxReplicas: 2, arrivals: within(arrivals, 3 * day) }
}

/**
 * Twelve models with the popularity and burstiness that Shahrad et al. describe for Azure Functions ("Serverless in the
 * Wild", 2020): mean gaps over several orders of magnitude (log-normal, most over a minute, many about an hour), gaps
 * that vary more than those of a Poisson process, and log-normal durations.
 */
function azureLike(seed: number): Trace[] {
  return Array.from({ length: 12 }, (_, index) => {
    const random = new Random(seed * 1_000 + index)
    const meanGap = Math.min(4 * hour, Math.max(1, random.logNormal(420, 2)))
    const variation = 1 + 3 * random.uniform()
    const arrivals: Arrival[] = []
    for (let at = random.gap(meanGap, variation); at < day; at += random.gap(meanGap, variation)) {
      arrivals.push({ at, takes: random.logNormal(5, 1) })
    }
    return { name: 'azure-like', seconds: day, targetRequests: 8, maxReplicas: 8, arrivals }
  })
}

function within(arrivals: readonly Arrival[], seconds: number): Arrival[] {
  return arrivals.filter(({ at }) => at < seconds).toSorted((one, other) => one.at - other.at)
}
