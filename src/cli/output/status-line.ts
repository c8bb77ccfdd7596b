/** Standard output or error, as far as lines are written over in it. */
export interface LineOutput {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): boolean
}

/** What happens now, in one line that is written over; in a pipe, a line for each change. */
export class StatusLine {
  readonly #output: LineOutput
  #shown = ''

  constructor(output: LineOutput = process.stderr) {
    this.#output = output
  }

  say(text: string): void {
    if (text === this.#shown) return
    this.#shown = text
    if (this.#output.isTTY !== true) return void this.#output.write(`${text}\n`)
    // A longer line would wrap, and only its last row could be written over.
    this.#output.write(`\r\u001b[K${text.slice(0, (this.#output.columns ?? 80) - 1)}`)
  }

  /** Leaves nothing behind on a terminal. */
  clear(): void {
    if (this.#shown !== '' && this.#output.isTTY === true) this.#output.write('\r\u001b[K')
    this.#shown = ''
  }
}
