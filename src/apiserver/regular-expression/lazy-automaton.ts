import type { Step } from './expression-program.ts'

interface State {
  /** Steps that wait for a character. */
  readonly waiting: readonly number[]
  /** A match has been seen, whatever follows. */
  readonly matches: boolean
  /** There is a match if the text ends here. */
  readonly matchesAtEnd: boolean
  readonly ascii: Array<State | undefined>
  readonly others: Map<number, State>
}

const mostStates = 256
const mostOthers = 1024

/**
 * Answers whether there is a match at all, remembering where each character led: long texts are read at the speed of
 * looking things up. What it remembers is bounded; past that it begins anew.
 */
export class LazyAutomaton {
  readonly #steps: readonly Step[]
  readonly #states = new Map<string, State>()
  #start: State | undefined
  #isOver = false

  constructor(steps: readonly Step[]) {
    this.#steps = steps
  }

  /** Only the ends of the text may be asserted: other assertions look at neighbours. */
  static canRun(steps: readonly Step[]): boolean {
    return steps.every(
      (step) => step.type !== 'assert' || step.assertion === 'text-start' || step.assertion === 'text-end',
    )
  }

  /** `take` is told of every step that is not looked up, and says whether to go on. */
  test(text: string, take: (steps: number) => boolean): boolean {
    let state = (this.#start ??= this.#stateOf([0], true))
    for (let at = 0; at < text.length; at++) {
      if (state.matches) return true
      // Nothing waits, and nothing new can begin: an expression that is bound to the beginning.
      if (state.waiting.length === 0) return false
      let codePoint = text.charCodeAt(at)
      if (codePoint >= 0xd800 && codePoint <= 0xdbff) {
        codePoint = text.codePointAt(at) ?? codePoint
        if (codePoint > 0xffff) at++
      }
      state =
        (codePoint < 128 ? state.ascii[codePoint] : state.others.get(codePoint)) ?? this.#next(state, codePoint, take)
      if (this.#isOver) return (this.#isOver = false)
    }
    return state.matches || state.matchesAtEnd
  }

  #next(state: State, codePoint: number, take: (steps: number) => boolean): State {
    if (!take(8 + 4 * state.waiting.length)) this.#isOver = true
    const after: number[] = []
    for (const at of state.waiting) {
      const step = this.#steps[at]
      if (step?.type === 'one' && step.set(codePoint)) after.push(at + 1)
    }
    // A match may begin anywhere.
    const next = this.#stateOf([...after, 0], false)
    if (codePoint < 128) state.ascii[codePoint] = next
    else if (state.others.size < mostOthers) state.others.set(codePoint, next)
    return next
  }

  #stateOf(from: readonly number[], atStart: boolean): State {
    const inside = this.#reach(from, atStart, false)
    const waiting = [...inside].filter((at) => this.#steps[at]?.type === 'one').sort((one, other) => one - other)
    const matches = this.#hasMatch(inside)
    const matchesAtEnd = matches || this.#hasMatch(this.#reach(from, atStart, true))
    const key = `${waiting.join(' ')} ${matches} ${matchesAtEnd}`
    const known = this.#states.get(key)
    if (known) return known
    if (this.#states.size >= mostStates) this.#states.clear()
    const state = { waiting, matches, matchesAtEnd, ascii: Array<State | undefined>(128), others: new Map() }
    this.#states.set(key, state)
    return state
  }

  #hasMatch(reached: ReadonlySet<number>): boolean {
    return reached.has(this.#steps.length - 1)
  }

  /** What is reached without taking a character. */
  #reach(from: readonly number[], atStart: boolean, atEnd: boolean): ReadonlySet<number> {
    const reached = new Set<number>()
    const pending = [...from]
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (reached.has(at)) continue
      reached.add(at)
      const step = this.#steps[at]
      if (step?.type === 'jump') pending.push(step.to)
      else if (step?.type === 'split') pending.push(step.first, step.second)
      else if (step?.type === 'assert' && (step.assertion === 'text-start' ? atStart : atEnd)) pending.push(at + 1)
    }
    return reached
  }
}
