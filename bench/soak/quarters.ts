import type { Figures } from './process-figures.ts'

/** Collects figures over time and compares the quarters of a run. */
export class Quarters {
  readonly #durationMs: number
  readonly #samples: { readonly atMs: number; readonly figures: Figures }[] = []

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  /** `atMs` counts from the end of the warm-up; figures before that belong to no quarter. */
  add(atMs: number, figures: Figures): void {
    if (atMs >= 0) this.#samples.push({ atMs, figures })
  }

  /**
   * The median of each quarter, and the ratio of the last to the second: by then a program is warm, and what has grown
   * since goes on growing. Small counts are ignored, since one more of three objects is no growth.
   */
  table(): string {
    const names = [...new Set(this.#samples.flatMap(({ figures }) => Object.keys(figures)))]
    const lines = names.map((name) => {
      const [first, second, third, last] = [0, 1, 2, 3].map((quarter) => this.#median(quarter, name))
      const ratio = second && last !== undefined ? last / second : undefined
      const grew = ratio !== undefined && ratio > 1.05 && (last ?? 0) - (second ?? 0) > 2
      const shown = [first, second, third, last].map((value) => (value === undefined ? '-' : value.toFixed(1)))
      return line(name, [...shown, ratio === undefined ? '-' : ratio.toFixed(2)], grew ? '  grew' : '')
    })
    return [line('median of each quarter', ['first', 'second', 'third', 'last', 'ratio']), ...lines].join('\n')
  }

  #median(quarter: number, name: string): number | undefined {
    const values = this.#samples
      .filter(({ atMs }) => Math.min(3, Math.floor((atMs / this.#durationMs) * 4)) === quarter)
      .flatMap(({ figures }) => figures[name] ?? [])
      .toSorted((one, other) => one - other)
    return values[Math.floor(values.length / 2)]
  }
}

function line(name: string, columns: readonly string[], ending = ''): string {
  return name.padEnd(52) + columns.map((column) => column.padStart(10)).join('') + ending
}
