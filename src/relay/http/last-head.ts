/** Makes the same head with another Content-Length. */
export type WithLength<T> = (head: T, digits: string) => T

/** Longer heads are not remembered: an idle connection must not hold much memory. */
const longestText = 4_096
/** After this many different heads in a row, nothing of this sender is remembered any more. */
const mostStrangers = 8

const lengthLine = /\r\ncontent-length:[ \t]*(\d{1,15})\r\n/i
const digits = /^\d{1,15}$/

/**
 * Remembers one connection's last head, up to 4 KiB, as text and parsed. Senders repeat their heads, often with only
 * the length changed; such a head is recognised by its text and not parsed, which saves nine tenths of the work. A
 * sender whose heads always differ is soon not remembered at all. A head may contain secrets: it is used for its own
 * connection only and goes with it.
 */
export class LastHead<T> {
  readonly #withLength: WithLength<T>
  #text = ''
  #head: T | undefined
  /** The text before and after the digits of the length; empty if there is none. */
  #around: readonly string[] | undefined
  #strangers = 0

  constructor(withLength: WithLength<T>) {
    this.#withLength = withLength
  }

  /** Where a head as long as the last one would end. */
  endAt(start: number): number {
    return start + this.#text.length
  }

  /** The parsed head, if this text repeats the last one. */
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
