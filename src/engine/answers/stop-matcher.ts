/**
 * Finds stop strings in text that arrives in pieces. Text that can no longer be part of a stop string is passed on at
 * once.
 */
export class StopMatcher {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '')
  }

  /** `text` can be shown now. `stop` is the stop string that was found, if one was; nothing after it is shown. */
  push(piece: string): { text: string; stop: string | undefined } {
    const text = this.#held + piece
    let found: { stop: string; at: number } | undefined
    for (const stop of this.#stops) {
      const at = text.indexOf(stop)
      if (at !== -1 && (!found || at < found.at)) found = { stop, at }
    }
    if (found) {
      this.#held = ''
      return { text: text.slice(0, found.at), stop: found.stop }
    }
    const keep = this.#possibleStartLength(text)
    this.#held = text.slice(text.length - keep)
    return { text: text.slice(0, text.length - keep), stop: undefined }
  }

  /** The text that was held back, once the end has come without a complete stop string. */
  flush(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }

  /** How many characters at the end of `text` could be the beginning of a stop string. */
  #possibleStartLength(text: string): number {
    let longest = 0
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length
      }
    }
    return longest
  }
}
