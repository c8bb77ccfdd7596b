import { part } from './element.ts'

const NEAR_END_PX = 48

/** Scrolls with a growing answer until the reader scrolls up, and again once they are back at the end. */
export class FollowScroll {
  readonly #scroller = part('scroller', HTMLElement)
  readonly #messages = part('messages', HTMLElement)
  readonly #jump = part('jump', HTMLButtonElement)
  #following = true
  #lastTop = 0
  /** Where this has scrolled to, until that is heard of. */
  #ownTop: number | undefined

  start(): void {
    this.#scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true })
    // Reacts before the scroll event itself, so that the next token cannot pull the reader back down.
    this.#scroller.addEventListener(
      'wheel',
      (event) => {
        if (event.deltaY < 0 && this.#scroller.scrollTop > 0) this.#following = false
      },
      { passive: true },
    )
    this.#jump.addEventListener('click', () => this.toEnd())
    const sizes = new ResizeObserver(() => this.#grew())
    sizes.observe(this.#scroller)
    for (const child of this.#scroller.children) sizes.observe(child)
  }

  toEnd(): void {
    this.#following = true
    this.#grew()
  }

  /** Stays where it is, however much is added: somebody does something here. */
  stay(): void {
    this.#following = false
  }

  #grew(): void {
    // The welcome of a new chat is shown from its start.
    if (this.#messages.hidden) this.#scroller.scrollTop = 0
    else if (this.#following) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight
      this.#ownTop = this.#scroller.scrollTop
    }
    this.#showJump()
  }

  #scrolled(): void {
    const { scrollTop } = this.#scroller
    const isOwn = scrollTop === this.#ownTop
    this.#ownTop = undefined
    // Only readers come back to the end: a token that was drawn while one turned the wheel would take them with it.
    if (this.#distanceToEnd() <= NEAR_END_PX) this.#following ||= !isOwn
    else if (scrollTop < this.#lastTop) this.#following = false
    this.#lastTop = scrollTop
    this.#showJump()
  }

  #showJump(): void {
    this.#jump.hidden = this.#messages.hidden || this.#following || this.#distanceToEnd() <= NEAR_END_PX
  }

  #distanceToEnd(): number {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller
    return scrollHeight - scrollTop - clientHeight
  }
}
