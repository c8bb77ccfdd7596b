/** Prints a row per measurement with a column per contestant, and how many times better the first one is. */
export class RatioTable {
  readonly #unit: string
  readonly #higherIsBetter: boolean
  #headed = false

  constructor(unit: string, better: 'higher' | 'lower') {
    this.#unit = unit
    this.#higherIsBetter = better === 'higher'
  }

  row(
    what: string,
    values: ReadonlyArray<{ readonly name: string; readonly value: number | undefined }>,
    note = '',
  ): void {
    if (!this.#headed) {
      const names = values.map(({ name }) => name.padStart(12)).join('')
      console.log(`${this.#unit.padEnd(44)}${names}${values.length > 1 ? '       ratio' : ''}`)
      this.#headed = true
    }
    const cells = values.map(({ value }) => shown(value).padStart(12)).join('')
    const [ours, theirs] = values.map(({ value }) => value)
    const ratio = ours === undefined || theirs === undefined ? '' : this.#ratio(ours, theirs)
    console.log(`${what.padEnd(44)}${cells}${ratio.padStart(12)}${note === '' ? '' : `   ${note}`}`)
  }

  #ratio(ours: number, theirs: number): string {
    return `${(this.#higherIsBetter ? ours / theirs : theirs / ours).toFixed(2)}×`
  }
}

function shown(value: number | undefined): string {
  if (value === undefined) return 'refused'
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1)
}
