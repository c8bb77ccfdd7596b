import type { CharacterSet } from './character-set.ts'
import { type Assertion, type Expression, ExpressionError } from './expression-syntax.ts'

export type Step =
  | { readonly type: 'one'; readonly set: CharacterSet }
  | { readonly type: 'assert'; readonly assertion: Assertion }
  /** Both branches are followed; the first is preferred. */
  | { readonly type: 'split'; first: number; second: number }
  | { readonly type: 'jump'; to: number }
  | { readonly type: 'match' }

const mostSteps = 20_000

/** Compiles an expression into steps that are followed in parallel, so that no text can make matching slow. */
export function programOf(expression: Expression): readonly Step[] {
  const writer = new ProgramWriter()
  writer.write(expression)
  writer.push({ type: 'match' })
  return writer.steps
}

class ProgramWriter {
  readonly steps: Step[] = []

  push<S extends Step>(step: S): S {
    if (this.steps.length >= mostSteps) throw new ExpressionError('expression too large', '')
    this.steps.push(step)
    return step
  }

  write(expression: Expression): void {
    switch (expression.type) {
      case 'empty':
        return
      case 'one':
      case 'assert':
        this.push(expression)
        return
      case 'sequence':
        for (const part of expression.parts) this.write(part)
        return
      case 'choice':
        this.#choice(expression.parts)
        return
      case 'repeat':
        this.#repeat(expression)
    }
  }

  #choice(parts: readonly Expression[]): void {
    const exits: Array<{ to: number }> = []
    for (const [index, part] of parts.entries()) {
      if (index === parts.length - 1) {
        this.write(part)
        break
      }
      const split = this.push({ type: 'split', first: this.steps.length + 1, second: 0 })
      this.write(part)
      exits.push(this.push({ type: 'jump', to: 0 }))
      split.second = this.steps.length
    }
    for (const exit of exits) exit.to = this.steps.length
  }

  #repeat({ part, least, most, lazy }: Extract<Expression, { type: 'repeat' }>): void {
    for (let count = 0; count < least; count++) this.write(part)
    if (most === Infinity) {
      const loop = this.steps.length
      const split = this.push({ type: 'split', first: 0, second: 0 })
      this.write(part)
      this.push({ type: 'jump', to: loop })
      this.#choose(split, loop + 1, lazy)
      return
    }
    const splits: Array<{ split: { first: number; second: number }; body: number }> = []
    for (let count = least; count < most; count++) {
      const split = this.push({ type: 'split', first: 0, second: 0 })
      splits.push({ split, body: this.steps.length })
      this.write(part)
    }
    for (const { split, body } of splits) this.#choose(split, body, lazy)
  }

  #choose(split: { first: number; second: number }, body: number, lazy: boolean): void {
    const after = this.steps.length
    split.first = lazy ? after : body
    split.second = lazy ? body : after
  }
}
