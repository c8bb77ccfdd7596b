/** Finds stop strings in text that arrives in pieces, letting through at once what can no longer be part of one. */
export class StopMatcher {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '')
  }

  /** `text` is safe to show. `stop` is the string that was found; nothing after it counts. */
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

  /** What was held back, when the text has ended without completing a stop string. */
  flush(): string {
    const rest = this.#held
    this.#held = ''
    return rest
  }

  /** How many characters at the end of `text` might be the beginning of a stop string. */
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
