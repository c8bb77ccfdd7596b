import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Turns } from '../flow-control/flow-control.ts'

/** Work in several phases, none of them long: at each `yield` others may come in between. */
export type Phases<T> = Generator<undefined, T, undefined>

/** While others had their turn, what the work began with changed. */
export const overtaken = Symbol('overtaken')

type Outcome<T> = T | typeof overtaken

/**
 * Does the work at once where it is short, as it nearly always is, and in turns where not. After each turn of
 * others `isStillTrue` says whether what was done so far is worth anything. What follows the last phase follows it
 * at once: nobody comes in between.
 */
export function inTurns<T>(phases: Phases<T>, turns: Turns): T | Promise<T>
export function inTurns<T>(
  phases: Phases<T>,
  turns: Turns,
  isStillTrue: () => boolean,
): Outcome<T> | Promise<Outcome<T>>
export function inTurns<T>(
  phases: Phases<T>,
  turns: Turns,
  isStillTrue: () => boolean = () => true,
): Outcome<T> | Promise<Outcome<T>> {
  const step = doneInTurn(phases, turns)
  return step.done ? step.value : goOn(phases, turns, isStillTrue)
}

async function goOn<T>(phases: Phases<T>, turns: Turns, isStillTrue: () => boolean): Promise<Outcome<T>> {
  for (;;) {
    await turns.next()
    if (!isStillTrue()) return overtaken
    const step = doneInTurn(phases, turns)
    if (step.done) return step.value
  }
}

function doneInTurn<T>(phases: Phases<T>, turns: Turns): IteratorResult<undefined, T> {
  for (;;) {
    const step = phases.next()
    if (step.done || turns.isOver) return step
  }
}

const turnMs = 10

/**
 * For those who stand in no queue, as the cluster's own controllers: whatever else the loop has to do comes in between.
 */
export class PlainTurns implements Turns {
  readonly #now: () => number
  #startedAt: number

  /** Milliseconds by whichever clock the others go by. */
  constructor(now: () => number) {
    this.#now = now
    this.#startedAt = now()
  }

  get isOver(): boolean {
    return this.#now() - this.#startedAt >= turnMs
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#startedAt = this.#now()
  }
}

const stepsPerPhase = 2_000

/** Divides work on very many small things into phases: so many of them are one. */
export class Pace {
  #steps = 0

  /** Another thing is to be done; `true` where a phase is to end before it. */
  isDue(): boolean {
    this.#steps += 1
    if (this.#steps <= stepsPerPhase) return false
    this.#steps = 1
    return true
  }
}

/** All of it now. */
export function finish<T>(phases: Phases<T>): T {
  for (;;) {
    const step = phases.next()
    if (step.done) return step.value
  }
}

/** Nobody comes in between, however long it takes. */
export const atOnce: Turns = { isOver: false, next: async () => {} }
