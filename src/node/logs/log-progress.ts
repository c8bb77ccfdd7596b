import { closeSync, constants, openSync, readFileSync, write } from 'node:fs'
import { promisify } from 'node:util'

const width = 16
const writeTo: (fd: number, text: string, position: number) => Promise<unknown> = promisify(write)

/**
 * How far a raw file was moved into its log, on disk, exact through a kill at any instant. It is written before each
 * append: from where to where the append goes in the raw file, and how large the log was before it. If the log is
 * larger afterwards, it happened.
 */
export class LogProgress {
  readonly #fd: number

  constructor(path: string) {
    // Not truncated when it is there, and not opened for appending: it is always written from its beginning.
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o644)
  }

  async intend(fromOffset: number, toOffset: number, logSize: number): Promise<void> {
    const text = [fromOffset, toOffset, logSize].map((value) => String(value).padStart(width, '0')).join(' ')
    // One write of always the same length: there is no moment at which half of it is there.
    await writeTo(this.#fd, text, 0)
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** Where to go on in the raw file, given how large the log is now. */
export function progressOffset(path: string, logSize: number): number {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    return 0
  }
  const [from = 0, to = 0, sizeBefore = 0] = text.split(' ').map((value) => Number.parseInt(value, 10) || 0)
  return logSize > sizeBefore ? to : from
}
