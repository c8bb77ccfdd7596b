/** The same head with another Content-Length. */
export type WithLength<T> = (head: T, digits: string) => T

/** Longer ones are parsed each time: a connection that rests must not hold much. */
const longestText = 4_096
/** After so many unlike each other, one after the other, nothing is remembered of this sender any more. */
const mostStrangers = 8

const lengthLine = /\r\ncontent-length:[ \t]*(\d{1,15})\r\n/i
const digits = /^\d{1,15}$/

/**
 * Remembers one connection's last head, up to 4 KiB of it, as text and as what it says. A sender says the same again
 * and again, and often only the length differs: such a head is recognised by its text and need not be parsed, which
 * takes a tenth of the time. A sender that says something else each time is soon not remembered at all. What a head
 * says may be secret: it is nobody else's, and goes with its connection.
 */
export class LastHead<T> {
  readonly #withLength: WithLength<T>
  #text = ''
  #head: T | undefined
  /** What stands before and behind the digits of its length; empty when there is none. */
  #around: readonly string[] | undefined
  #strangers = 0

  constructor(withLength: WithLength<T>) {
    this.#withLength = withLength
  }

  /** Where one of the last one's length would end. */
  endAt(start: number): number {
    return start + this.#text.length
  }

  /** What a whole head says, when it is like the last. */
  like(text: string): T | undefined {
    if (this.#head === undefined) return undefined
    const head = text === this.#text ? this.#head : this.#ofOtherLength(text, this.#head)
    if (head !== undefined) this.#strangers = 0
    return head
  }

  remember(text: string, head: T): void {
    if (this.#strangers > mostStrangers) return
    this.#strangers++
    const isWorthIt = text.length <= longestText && this.#strangers <= mostStrangers
    this.#text = isWorthIt ? text : ''
    this.#head = isWorthIt ? head : undefined
    this.#around = undefined
  }

  #ofOtherLength(text: string, head: T): T | undefined {
    this.#around ??= aroundLength(this.#text)
    const [before, behind] = this.#around
    if (before === undefined || behind === undefined) return undefined
    if (!text.startsWith(before) || !text.endsWith(behind)) return undefined
    const length = text.slice(before.length, text.length - behind.length)
    if (!digits.test(length)) return undefined
    const other = this.#withLength(head, length)
    this.#text = text
    this.#head = other
    return other
  }
}

function aroundLength(text: string): readonly string[] {
  const match = lengthLine.exec(text)
  if (!match?.[1]) return []
  const end = match.index + match[0].length - 2
  return [text.slice(0, end - match[1].length), text.slice(end)]
}
