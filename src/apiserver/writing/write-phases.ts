import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Turns } from '../flow-control/flow-control.ts'

/** Work in several short phases: at each `yield` others may come in between. */
export type Phases<T> = Generator<undefined, T, undefined>

/** What the work was based on changed while others had their turn. */
export const overtaken = Symbol('overtaken')

type Outcome<T> = T | typeof overtaken

/**
 * Does the work at once if it is short, as it nearly always is, and otherwise in turns. After each turn of others,
 * `isStillTrue` says whether the work done so far is still valid. Nothing comes between the last phase and what follows
 * it.
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
 * For those who stand in no queue, such as the cluster's own controllers: pauses for whatever else the loop has to do.
 */
export class PlainTurns implements Turns {
  readonly #now: () => number
  #startedAt: number

  /** In milliseconds of the clock that the other turns use. */
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

/** Divides work on very many small things into phases of so many each. */
export class Pace {
  #steps = 0

  /** Counts another thing; `true` when a phase should end before it. */
  isDue(): boolean {
    this.#steps += 1
    if (this.#steps <= stepsPerPhase) return false
    this.#steps = 1
    return true
  }
}

/** Does all of it now. */
export function finish<T>(phases: Phases<T>): T {
  for (;;) {
    const step = phases.next()
    if (step.done) return step.value
  }
}

/** Never pauses, however long it takes. */
export const atOnce: Turns = { isOver: false, next: async () => {} }
