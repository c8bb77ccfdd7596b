/** A line that never ends is written in pieces of this size. */
const longestLine = 64 * 1024

/** Writes whole lines with something before each, so that those of several writers do not mix. */
export class LinePrefixer {
  readonly #prefix: string
  readonly #write: (text: string) => void
  readonly #decoder = new TextDecoder()
  #rest = ''

  constructor(prefix: string, write: (text: string) => void) {
    this.#prefix = prefix
    this.#write = write
  }

  write(bytes: Uint8Array): void {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true })
    const end = text.lastIndexOf('\n') + 1
    this.#print(text.slice(0, end))
    this.#rest = text.slice(end)
    if (this.#rest.length > longestLine) this.end()
  }

  end(): void {
    if (this.#rest !== '') this.#print(`${this.#rest}\n`)
    this.#rest = ''
  }

  #print(lines: string): void {
    if (lines === '') return
    this.#write(this.#prefix === '' ? lines : lines.replaceAll(/^(?=.*\n)/gm, this.#prefix))
  }
}
