/** How many threads compute a step of so many tokens. */
export interface StepThreads {
  forStep(tokens: number): number
}

/** What a processor's clocks say at one moment. */
export interface CoreUse {
  readonly atMs: number
  /** For how long cores of the machine had nothing to do, added up since it was started. */
  readonly idleMs: number
  /** For how long cores worked for this process, added up since it was started. */
  readonly ownMs: number
}

export interface SpareCoreOptions {
  /** Those that this process may use. */
  readonly cores: number
  /** How many threads compute beside other work. */
  readonly threads: number
  /** Undefined where the machine does not tell. */
  readonly read: () => CoreUse | undefined
}

/** A single token is over so soon that sending it takes as long as another thread would spare. */
const fewestTokens = 2
/** The machine counts in hundredths of a second, so less says little. */
const windowMs = 200
/** How much of a core others may use. At half a core, two threads on two cores do no more than one. */
const mostOfOthers = 0.35

/** So many for each step, as somebody asked for. */
export function fixedThreads(threads: number): StepThreads {
  return { forStep: () => threads }
}

/**
 * Prompts, and many requests together, are computed on all cores while nobody else uses them, which on two cores takes
 * half of the time. Beside other work it would take many times as long, because llama.cpp's threads wait for each other
 * at every layer, and each of them for its core: then one core is left to others.
 */
export class SpareCoreThreads implements StepThreads {
  readonly #options: SpareCoreOptions
  #last: CoreUse | undefined
  #areSpare = false

  constructor(options: SpareCoreOptions) {
    this.#options = options
    this.#last = options.read()
  }

  forStep(tokens: number): number {
    const { cores, threads } = this.#options
    if (tokens < fewestTokens || cores <= threads) return threads
    this.#look()
    return this.#areSpare ? cores : threads
  }

  #look(): void {
    const [before, now] = [this.#last, this.#options.read()]
    if (before && now && now.atMs - before.atMs < windowMs) return
    this.#last = now
    this.#areSpare = before !== undefined && now !== undefined && coresFor(before, now) >= this.#leastCores
  }

  get #leastCores(): number {
    return this.#options.cores - mostOfOthers
  }
}

/** How many cores this process had, or could have had. */
function coresFor(before: CoreUse, now: CoreUse): number {
  return (now.idleMs - before.idleMs + now.ownMs - before.ownMs) / (now.atMs - before.atMs)
}
