import type { NativeContext } from './llama-addon.ts'
import type { Token } from './loaded-model.ts'

/** A conversation in a context: the tokens that were computed, and can be continued. */
export class Sequence {
  /** Its number in the present context; undefined while the context has no room for it. */
  id: number | undefined
  #tokens: Token[] = []
  /** When it was last used, as a count of uses of all sequences. */
  usedAt = 0

  get tokens(): readonly Token[] {
    return this.#tokens
  }

  /** How many tokens at the beginning are the same. */
  sharedWith(tokens: readonly Token[]): number {
    const length = Math.min(tokens.length, this.#tokens.length)
    let shared = 0
    while (shared < length && tokens[shared] === this.#tokens[shared]) shared++
    return shared
  }

  /**
   * Forgets all but the first `length` tokens. Models that keep only the last tokens, or a state of all of them, cannot
   * forget a part: everything is computed again then.
   */
  keep(length: number, context: NativeContext): void {
    if (length >= this.#tokens.length || this.id === undefined) return
    const windowed = context.getSequenceKvCacheMinPosition(this.id) > 0
    const isKept = length > 0 && !windowed && context.removeTokenCellsFromSequence(this.id, length, this.#tokens.length)
    if (isKept) this.#tokens.length = length
    else this.clear(context)
  }

  clear(context: NativeContext): void {
    if (this.id !== undefined && this.#tokens.length > 0) context.disposeSequence(this.id)
    this.#tokens = []
  }

  computed(tokens: readonly Token[]): void {
    for (const token of tokens) this.#tokens.push(token)
  }

  /** Its context is gone, and with it what was computed. */
  lost(): void {
    this.id = undefined
    this.#tokens = []
  }
}
