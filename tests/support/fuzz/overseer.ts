import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { podProcesses, type SluiceProcess } from '../sluice-process.ts'

/** What was observed while the fuzzer acted. */
export interface Sightings {
  readonly samples: number
  readonly largestResidentMiB: number
  /** The slowest answer of `/healthz` at the gateway, which is asked several times a second. */
  readonly slowestHealthMs: number
  /** The longest time that an event loop was blocked, as measured by the program itself. */
  readonly longestStallMs: number
  readonly problems: readonly string[]
}

/** The pause between two samples. */
const pauseMs = 250
const healthDeadlineMs = 15_000

/**
 * Observes a running Sluice from outside: whether it answers, how large it is, and whether two Pods have the same card.
 */
export class Overseer {
  readonly #problems = new Set<string>()
  readonly #data: string
  #sluice: SluiceProcess | undefined
  #looking: Promise<void> = Promise.resolve()
  #over = false
  #samples = 0
  #largest = 0
  #slowest = 0
  #stall = 0

  constructor(data: string) {
    this.#data = data
  }

  get sightings(): Sightings {
    return {
      samples: this.#samples,
      largestResidentMiB: Math.round(this.#largest / 1024),
      slowestHealthMs: Math.round(this.#slowest),
      longestStallMs: Math.round(this.#stall),
      problems: [...this.#problems],
    }
  }

  watch(sluice: SluiceProcess): void {
    this.#sluice = sluice
    this.#over = false
    this.#looking = this.#look()
  }

  /** To be called before Sluice is stopped or killed: from then on it need not answer. */
  async rest(): Promise<void> {
    this.#over = true
    await this.#looking
    this.#sluice = undefined
  }

  async #look(): Promise<void> {
    for (let turn = 0; !this.#over; turn += 1) {
      const sluice = this.#sluice
      if (!sluice) return
      try {
        await this.#sample(sluice, turn)
      } catch (error) {
        if (!this.#over) this.#problems.add(`it does not answer: ${String(error)}`)
      }
      await pause(pauseMs)
    }
  }

  async #sample(sluice: SluiceProcess, turn: number): Promise<void> {
    const { gateway, pid } = sluice.endpoints
    const begun = performance.now()
    const answer = await fetch(`${gateway}/healthz`, { signal: AbortSignal.timeout(healthDeadlineMs) })
    await answer.text()
    this.#slowest = Math.max(this.#slowest, performance.now() - begun)
    if (answer.status !== 200) this.#problems.add(`/healthz answered ${answer.status}`)
    this.#largest = Math.max(this.#largest, residentKiB(pid))
    this.#samples += 1
    for (const problem of cardsGivenTwice(this.#data)) this.#problems.add(problem)
    if (turn % 20 === 0) this.#stall = Math.max(this.#stall, await longestStallMs(`${gateway}/metrics`))
  }
}

function residentKiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}

async function longestStallMs(url: string): Promise<number> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(healthDeadlineMs) })
  const values = (await answer.text()).matchAll(/^sluice_loop_longest_stall_seconds(?:\{[^}]*\})? ([\d.e+-]+)$/gm)
  return Math.max(0, ...[...values].map(([, value]) => Number(value) * 1000))
}

/** Cards that processes of two Pods have at the same time. */
function cardsGivenTwice(data: string): string[] {
  const holders = new Map<string, Set<string>>()
  for (const pid of podProcesses(data)) {
    const text = environmentOf(pid)
    const pod = /SLUICE_POD_UID=([^\0]*)/.exec(text)?.[1] ?? ''
    for (const card of /CUDA_VISIBLE_DEVICES=([^\0]*)/.exec(text)?.[1]?.split(',') ?? []) {
      if (card !== '') holders.set(card, (holders.get(card) ?? new Set()).add(pod))
    }
  }
  return [...holders].filter(([, pods]) => pods.size > 1).map(([card]) => `card ${card} was given to two Pods`)
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    // The process has ended in the meantime.
    return ''
  }
}
