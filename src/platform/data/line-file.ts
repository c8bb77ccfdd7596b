import { closeSync, mkdirSync, openSync, write, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const blockBytes = 64 * 1024
/** What may wait for a disk that is slow or full; lines beyond it are counted and left out. */
const mostBlocks = 64
/** UTF-8 takes no more for a character of a JavaScript string. */
const bytesPerCharacter = 3

/**
 * Appends lines to a file, many with one write. Whoever writes never waits for the disk: a log that
 * stands still must not make a gateway stand still.
 */
export class LineFile {
  /** Undefined for what was opened by others, which is never opened anew. */
  readonly #path: string | undefined
  readonly #onLost: (lines: number) => void
  #fd: number
  #isMoved = false
  readonly #full: Buffer[] = []
  #block: Buffer = Buffer.allocUnsafeSlow(blockBytes)
  #at = 0
  #spare: Buffer | undefined
  #writing = false
  #lost = 0
  #closed = false

  /**
   * The folder is made where it is missing; a new file is for its owner only. `onLost` is told how many lines were left
   * out.
   */
  constructor(place: string | { readonly fd: number }, onLost: (lines: number) => void = () => {}) {
    this.#onLost = onLost
    if (typeof place !== 'string') {
      this.#fd = place.fd
      return
    }
    mkdirSync(dirname(place), { recursive: true })
    this.#path = place
    this.#fd = openSync(place, 'a', 0o600)
  }

  write(line: string): void {
    if (this.#closed) return
    const mostBytes = line.length * bytesPerCharacter
    if (this.#at + mostBytes > this.#block.length && !this.#makeRoom(mostBytes)) return
    this.#at += this.#block.write(line, this.#at)
  }

  /** A line that is UTF-8 already; whoever gives it may use it for the next. */
  writeBytes(line: Buffer): void {
    if (this.#closed) return
    if (this.#at + line.length > this.#block.length && !this.#makeRoom(line.length)) return
    this.#block.set(line, this.#at)
    this.#at += line.length
  }

  /** Hands on what was gathered. */
  flush(): void {
    if (this.#at > 0) this.#putAside()
    this.#writeNext()
  }

  /**
   * The file was moved aside: what comes from now on goes into a new one of its name. What is on its way goes where it
   * was.
   */
  reopen(): void {
    this.#isMoved = true
    this.#writeNext()
  }

  /** Of the file that is written to. */
  get fd(): number {
    return this.#fd
  }

  /** Writes what is left before the program ends. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    try {
      // The first is on its way already: the program does not end before it has arrived, though perhaps behind the
      // others.
      for (const block of this.#writing ? this.#full.slice(1) : this.#full) writeSync(this.#fd, block)
      writeSync(this.#fd, this.#block, 0, this.#at)
    } catch {
      // The end of a log that cannot be written is written nowhere.
    }
  }

  #makeRoom(bytes: number): boolean {
    if (this.#full.length >= mostBlocks) {
      this.#lost++
      this.#onLost(1)
      return false
    }
    this.flush()
    if (bytes > this.#block.length) this.#block = Buffer.allocUnsafeSlow(bytes)
    return true
  }

  #putAside(): void {
    this.#full.push(this.#block.subarray(0, this.#at))
    this.#block = this.#spare ?? Buffer.allocUnsafeSlow(blockBytes)
    this.#spare = undefined
    this.#at = 0
  }

  #openAnew(): void {
    this.#isMoved = false
    if (this.#path === undefined) return
    try {
      const fd = openSync(this.#path, 'a', 0o600)
      closeSync(this.#fd)
      this.#fd = fd
    } catch {
      // Better a log in a file that was moved than none; the next look tries again.
    }
  }

  #writeNext(): void {
    if (this.#isMoved && !this.#writing && !this.#closed) this.#openAnew()
    const block = this.#full[0]
    if (this.#writing || !block || this.#closed) return
    this.#writing = true
    write(this.#fd, block, (error, written) => {
      this.#writing = false
      if (this.#closed) return
      if (!error && written < block.length) this.#full[0] = block.subarray(written)
      else this.#letGo(block, error ? block.toString('latin1').split('\n').length - 1 : 0)
      this.#writeNext()
    })
  }

  #letGo(block: Buffer, lostLines: number): void {
    this.#full.shift()
    this.#lost += lostLines
    if (lostLines > 0) this.#onLost(lostLines)
    if (block.buffer.byteLength === blockBytes) this.#spare ??= Buffer.from(block.buffer)
    if (this.#lost === 0) return
    const lost = this.#lost
    this.#lost = 0
    const time = new Date().toISOString()
    this.write(
      `{"level":"warn","time":"${time}","lines":${lost},"msg":"lines are missing here: the disk was full or behind"}\n`,
    )
  }
}
