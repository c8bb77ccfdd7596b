import type { LineOutput } from './status-line.ts'

const width = 30
const longWorkBytes = 50e6

/** A progress bar in one line. If the output is not a terminal, a line for every tenth instead. */
export class ProgressBar {
  readonly #output: LineOutput
  readonly #label: string
  #lastTenth = -1
  #open = false
  #shown = ''

  constructor(output: LineOutput, label: string) {
    this.#output = output
    this.#label = label
  }

  show(done: number, total: number): void {
    const share = total > 0 ? Math.min(1, done / total) : 0
    const text = `${this.#label}  ${Math.floor(share * 100)} %  ${megabytes(done)} of ${megabytes(total)} MB`
    if (this.#output.isTTY) {
      if (text === this.#shown) return
      this.#shown = text
      const filled = Math.round(share * width)
      const line = `[${'█'.repeat(filled)}${' '.repeat(width - filled)}] ${text} `
      // A longer line would wrap, and only its last row could be written over.
      this.#output.write(`\r${line.slice(0, (this.#output.columns ?? 80) - 1)}`)
      this.#open = true
      return
    }
    const tenth = Math.floor(share * 10)
    if (tenth === this.#lastTenth) return
    this.#lastTenth = tenth
    this.#output.write(`${text}\n`)
  }

  /** The same, but not of work that is done in a moment. */
  readonly forLongWork = (done: number, total: number): void => {
    if (total >= longWorkBytes) this.show(done, total)
  }

  finish(): void {
    if (this.#open) this.#output.write('\n')
    this.#open = false
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}
