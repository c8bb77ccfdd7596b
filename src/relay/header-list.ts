/** Header fields in the order and case they arrived; looked up without regard to case. */
export class HeaderList {
  readonly #pairs: ReadonlyArray<readonly [name: string, value: string]>

  constructor(pairs: ReadonlyArray<readonly [name: string, value: string]>) {
    this.#pairs = pairs
  }

  /** The value of a field; several fields of one name are joined as RFC 9110 says. `name` is lower case. */
  get(name: string): string | undefined {
    let joined: string | undefined
    for (const [key, value] of this.#pairs) {
      if (key.length !== name.length || key.toLowerCase() !== name) continue
      joined = joined === undefined ? value : `${joined}, ${value}`
    }
    return joined
  }

  [Symbol.iterator](): Iterator<readonly [name: string, value: string]> {
    return this.#pairs[Symbol.iterator]()
  }
}
