import type { ConsoleState } from '../state/console-state.ts'

/** A part of the page that shows something of the state. */
export interface Panel {
  readonly element: HTMLElement
  update(state: ConsoleState, now: number): void
  /** Called when it is taken off the page. */
  close?(): void
}

/**
 * Replaces the children only if what they show has changed: whoever selects a text keeps it.
 */
export class Redrawn {
  readonly #target: Element
  #shown: string | undefined

  constructor(target: Element) {
    this.#target = target
  }

  draw(shown: unknown, make: () => readonly Node[]): void {
    const text = JSON.stringify(shown)
    if (text === this.#shown) return
    this.#shown = text
    const focused = document.activeElement
    const held = focused && this.#target.contains(focused) ? placeOf(focused) : undefined
    this.#target.replaceChildren(...make())
    if (held !== undefined) this.#focusAgain(held)
  }

  /** Whoever works with the keyboard stands on the same link or button as before. */
  #focusAgain(place: string): void {
    const [same] = [...this.#target.querySelectorAll('a, button')].filter((candidate) => placeOf(candidate) === place)
    if (same instanceof HTMLElement) same.focus({ preventScroll: true })
  }
}

/** By what a link or button is known again after it was drawn anew. */
function placeOf(node: Element): string {
  return node.getAttribute('href') ?? node.getAttribute('aria-label') ?? node.textContent ?? ''
}
