import { closeSync, mkdirSync, openSync, write, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const blockBytes = 64 * 1024
/** How many blocks may wait for a slow or full disk. Further lines are counted and dropped. */
const mostBlocks = 64
/** The most bytes that UTF-8 needs for one character of a JavaScript string. */
const bytesPerCharacter = 3

/**
 * Appends lines to a file, many at a time. Callers never wait for the disk: if the log cannot be written, the gateway
 * must go on.
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
   * Creates the folder if it is missing, and the file for its owner only. `onLost` is told how many lines were dropped.
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

  /** Takes a line in UTF-8. It is copied, so the caller may reuse the buffer. */
  writeBytes(line: Buffer): void {
    if (this.#closed) return
    if (this.#at + line.length > this.#block.length && !this.#makeRoom(line.length)) return
    this.#block.set(line, this.#at)
    this.#at += line.length
  }

  /** Passes collected lines on to be written. */
  flush(): void {
    if (this.#at > 0) this.#putAside()
    this.#writeNext()
  }

  /**
   * Tells that the file was moved aside: later lines go to a new file of the same name. A write that has begun ends in
   * the old one.
   */
  reopen(): void {
    this.#isMoved = true
    this.#writeNext()
  }

  /** The descriptor of the current file. */
  get fd(): number {
    return this.#fd
  }

  /** Writes what is left, before the program ends. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    try {
      // The first block is being written already. The program waits for that, though it may end up behind the others.
      for (const block of this.#writing ? this.#full.slice(1) : this.#full) writeSync(this.#fd, block)
      writeSync(this.#fd, this.#block, 0, this.#at)
    } catch {
      // There is nowhere to report that the end of the log cannot be written.
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
      // Goes on in the moved file, which is better than nothing. The next check tries again.
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
