import type { Demand } from '../../traffic/demand.ts'
import type { DemandFrame, ToldModel, ToldPod } from './demand-frame.ts'

/** The part of a gateway's pool that is told to the controller. */
export interface ToldPool extends Demand {
  openEndpoints(model: string): ReadonlyArray<{ readonly name: string }>
}

/** Finds out what one listener has not been told yet. */
export class DemandTeller {
  readonly #pool: ToldPool
  readonly #now: () => number
  /** What the listener knows of each model, as text that is compared. */
  readonly #told = new Map<string, string>()
  #isFirst = true

  constructor(pool: ToldPool, now: () => number) {
    this.#pool = pool
    this.#now = now
  }

  /** What changed since the last frame; everything the first time. */
  next(): DemandFrame {
    const known = this.#isSynced()
    const whole = this.#isFirst
    this.#isFirst = false
    const names = this.#pool.models()
    const there = new Set(names)
    const gone = [...this.#told.keys()].filter((name) => !there.has(name))
    for (const name of gone) this.#told.delete(name)
    const changed = names.filter((name) => this.#isNews(name))
    return { known, whole, models: Object.fromEntries(changed.map((name) => [name, this.#tell(name)])), gone }
  }

  #isSynced(): boolean {
    return this.#pool.sample('') !== undefined
  }

  #isNews(name: string): boolean {
    const { active = 0, waiting = 0 } = this.#pool.sample(name) ?? {}
    // While there are requests, the time of the last one is now; it only says something when there are none.
    const lastAt = active + waiting > 0 ? 'now' : this.#pool.lastActiveAt(name)
    const text = JSON.stringify([active, waiting, lastAt, this.#pods(name)])
    if (this.#told.get(name) === text) return false
    this.#told.set(name, text)
    return true
  }

  #tell(name: string): ToldModel {
    const { active = 0, waiting = 0 } = this.#pool.sample(name) ?? {}
    const lastAt = this.#pool.lastActiveAt(name)
    const idleMs = lastAt === undefined ? null : Math.max(0, this.#now() - lastAt)
    return { active, waiting, idleMs, pods: this.#pods(name) }
  }

  #pods(name: string): Record<string, ToldPod> {
    const open = new Set(this.#pool.openEndpoints(name).map((endpoint) => endpoint.name))
    const requests = this.#pool.inFlightByEndpoint(name)
    const names = [...new Set([...open, ...requests.keys()])].toSorted()
    return Object.fromEntries(names.map((pod) => [pod, { requests: requests.get(pod) ?? 0, open: open.has(pod) }]))
  }
}
