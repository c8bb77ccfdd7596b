import { type Step, programOf } from './expression-program.ts'
import { type Assertion, parseExpression } from './expression-syntax.ts'
import { LazyAutomaton } from './lazy-automaton.ts'

interface Thread {
  readonly at: number
  readonly start: number
}

export interface Match {
  readonly start: number
  readonly end: number
}

/** The work that matching may still do. */
export interface MatchingWork {
  /** `false`: there is none left. */
  take(steps: number): boolean
}

/**
 * A regular expression in RE2's dialect, matched in time linear in the text. Patterns come from
 * CustomResourceDefinitions and texts from their objects; with JavaScript's own expressions, the two together could be
 * made to run for years.
 */
export class RegularExpression {
  readonly #steps: readonly Step[]
  readonly #visited: Uint32Array
  readonly #automaton: LazyAutomaton | undefined
  #visit = 0

  /** Throws ExpressionError. */
  constructor(source: string) {
    this.#steps = programOf(parseExpression(source))
    this.#visited = new Uint32Array(this.#steps.length)
    this.#automaton = LazyAutomaton.canRun(this.#steps) ? new LazyAutomaton(this.#steps) : undefined
  }

  get size(): number {
    return this.#steps.length
  }

  /** Matching counts against `work`, if given, and gives up when none is left. */
  test(text: string, work?: MatchingWork): boolean {
    work?.take(text.length / 8)
    const take = (steps: number) => work?.take(steps) ?? true
    if (this.#automaton) return this.#automaton.test(text, take)
    return this.#search(text, 0, true, take) !== undefined
  }

  /** The leftmost match, by the preferences of the expression. Positions are those of JavaScript strings. */
  find(text: string, from = 0): Match | undefined {
    return this.#search(text, from, false, () => true)
  }

  #search(text: string, from: number, anyMatch: boolean, take: (steps: number) => boolean): Match | undefined {
    let threads: Thread[] = []
    let found: Match | undefined
    for (let at = from; ;) {
      const before = at > 0 ? codePointBefore(text, at) : -1
      const codePoint = at < text.length ? (text.codePointAt(at) ?? -1) : -1
      this.#beginVisit()
      const ready: Thread[] = []
      for (const thread of threads) this.#follow(ready, thread.at, thread.start, before, codePoint)
      if (!found) this.#follow(ready, 0, at, before, codePoint)
      if (!take(1 + ready.length)) return undefined
      const next: Thread[] = []
      for (const { at: step, start } of ready) {
        const instruction = this.#steps[step]
        if (instruction?.type === 'match') {
          if (anyMatch) return { start, end: at }
          found = { start, end: at }
          // Branches that are less preferred than a match are dropped.
          break
        }
        if (instruction?.type === 'one' && codePoint >= 0 && instruction.set(codePoint)) {
          next.push({ at: step + 1, start })
        }
      }
      threads = next
      if (codePoint < 0 || (threads.length === 0 && found)) return found
      at += codePoint > 0xffff ? 2 : 1
    }
  }

  #beginVisit(): void {
    if (this.#visit === 0xffffffff) {
      this.#visited.fill(0)
      this.#visit = 0
    }
    this.#visit++
  }

  /** Adds the steps that are reached without consuming a character, most preferred first. */
  #follow(ready: Thread[], from: number, start: number, before: number, after: number): void {
    const pending = [from]
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (this.#visited[at] === this.#visit) continue
      this.#visited[at] = this.#visit
      const step = this.#steps[at]
      switch (step?.type) {
        case 'jump':
          pending.push(step.to)
          break
        case 'split':
          pending.push(step.second, step.first)
          break
        case 'assert':
          if (holds(step.assertion, before, after)) pending.push(at + 1)
          break
        default:
          ready.push({ at, start })
      }
    }
  }
}

function holds(assertion: Assertion, before: number, after: number): boolean {
  switch (assertion) {
    case 'text-start':
      return before < 0
    case 'text-end':
      return after < 0
    case 'line-start':
      return before < 0 || before === 0x0a
    case 'line-end':
      return after < 0 || after === 0x0a
    case 'word-boundary':
      return isWord(before) !== isWord(after)
    default:
      return isWord(before) === isWord(after)
  }
}

function isWord(codePoint: number): boolean {
  return (
    (codePoint >= 0x61 && codePoint <= 0x7a) ||
    (codePoint >= 0x41 && codePoint <= 0x5a) ||
    (codePoint >= 0x30 && codePoint <= 0x39) ||
    codePoint === 0x5f
  )
}

function codePointBefore(text: string, at: number): number {
  const low = text.charCodeAt(at - 1)
  const isPair = low >= 0xdc00 && low <= 0xdfff && at > 1
  return isPair ? (text.codePointAt(at - 2) ?? low) : low
}
