import type { Clock } from '../../foundation/clock.ts'
import type { ProcessUse } from './process-use.ts'

/** A container that runs, and what it has used since it started. */
export interface ContainerUse extends ProcessUse {
  readonly podUid: string
  readonly container: string
  /** Tells its starts apart. */
  readonly startedAt: number
}

/** What was used until one moment. */
export interface UsageSample {
  readonly machine: ProcessUse
  readonly containers: readonly ContainerUse[]
}

export interface UsageRate {
  /** Cores, on average. */
  readonly cpus: number
  readonly memoryBytes: number
}

/** What was used during a while. */
export interface MeasuredUsage {
  readonly endedAt: number
  readonly windowMs: number
  readonly machine: UsageRate
  readonly containers: ReadonlyArray<UsageRate & { readonly podUid: string; readonly container: string }>
}

/** A shorter while would show single turns of a processor. */
const shortestWindowMs = 1_000
/** What was seen longer ago says little about now. */
const longestWindowMs = 60_000
/** Who asks again soon is told the same. */
const freshMs = 5_000

interface TimedSample extends UsageSample {
  readonly at: number
}

/**
 * Measures when somebody asks, and never otherwise: an idle node looks at nothing. Whoever asks first waits a second
 * for two looks; later ones are told what was used since the last look.
 */
export class UsageMeter {
  readonly #clock: Clock
  readonly #look: () => Promise<UsageSample>
  #last: TimedSample | undefined
  #known: MeasuredUsage | undefined
  #measuring: Promise<MeasuredUsage> | undefined

  constructor(clock: Clock, look: () => Promise<UsageSample>) {
    this.#clock = clock
    this.#look = look
  }

  /** Everybody who asks meanwhile shares one measurement. */
  measure(): Promise<MeasuredUsage> {
    if (this.#known && this.#clock.now() - this.#known.endedAt < freshMs) return Promise.resolve(this.#known)
    this.#measuring ??= this.#measure().finally(() => (this.#measuring = undefined))
    return this.#measuring
  }

  async #measure(): Promise<MeasuredUsage> {
    const before = await this.#sampleBefore()
    const now = await this.#sample()
    this.#last = now
    this.#known = usageBetween(before, now)
    return this.#known
  }

  async #sampleBefore(): Promise<TimedSample> {
    const last = this.#last
    const age = last ? this.#clock.now() - last.at : Number.POSITIVE_INFINITY
    if (last && age >= shortestWindowMs && age <= longestWindowMs) return last
    const first = await this.#sample()
    await this.#clock.sleep(shortestWindowMs)
    return first
  }

  async #sample(): Promise<TimedSample> {
    const sample = await this.#look()
    return { ...sample, at: this.#clock.now() }
  }
}

function usageBetween(before: TimedSample, now: TimedSample): MeasuredUsage {
  const windowMs = Math.max(1, now.at - before.at)
  const known = new Map(before.containers.map((container) => [keyOf(container), container]))
  const rate = (use: ProcessUse, earlier: Pick<ProcessUse, 'cpuMs'>, ms: number): UsageRate => ({
    // What ended without being waited for takes its time with it.
    cpus: Math.max(0, use.cpuMs - earlier.cpuMs) / ms,
    memoryBytes: use.memoryBytes,
  })
  return {
    endedAt: now.at,
    windowMs,
    machine: rate(now.machine, before.machine, windowMs),
    containers: now.containers.map((container) => {
      const { podUid, container: name, startedAt } = container
      const earlier = known.get(keyOf(container))
      const since = earlier ? windowMs : Math.max(1, now.at - startedAt)
      return { podUid, container: name, ...rate(container, earlier ?? { cpuMs: 0 }, since) }
    }),
  }
}

function keyOf({ podUid, container, startedAt }: ContainerUse): string {
  return `${podUid}/${container}/${startedAt}`
}
