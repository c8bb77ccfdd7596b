import type { Step } from './expression-program.ts'

interface State {
  /** Steps that wait for a character. */
  readonly waiting: readonly number[]
  /** A match has been found, whatever follows. */
  readonly matches: boolean
  /** There is a match if the text ends here. */
  readonly matchesAtEnd: boolean
  readonly ascii: Array<State | undefined>
  readonly others: Map<number, State>
}

const mostStates = 256
const mostOthers = 1024

/**
 * Tells whether there is a match at all, and remembers where each character led, so that long texts are read by table
 * lookups. What it remembers is bounded; beyond that it starts afresh.
 */
export class LazyAutomaton {
  readonly #steps: readonly Step[]
  readonly #states = new Map<string, State>()
  #start: State | undefined
  #isOver = false

  constructor(steps: readonly Step[]) {
    this.#steps = steps
  }

  /** Only assertions about the ends of the text are supported: others look at neighbouring characters. */
  static canRun(steps: readonly Step[]): boolean {
    return steps.every(
      (step) => step.type !== 'assert' || step.assertion === 'text-start' || step.assertion === 'text-end',
    )
  }

  /** `take` is told of every step that was not remembered, and says whether to go on. */
  test(text: string, take: (steps: number) => boolean): boolean {
    let state = (this.#start ??= this.#stateOf([0], true))
    for (let at = 0; at < text.length; at++) {
      if (state.matches) return true
      // Nothing waits and nothing new can begin: the expression is anchored at the beginning.
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

  /** The steps that are reached without consuming a character. */
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
