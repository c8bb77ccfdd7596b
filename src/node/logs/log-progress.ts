import { closeSync, constants, openSync, readFileSync, write } from 'node:fs'
import { promisify } from 'node:util'

const width = 16
const writeTo: (fd: number, text: string, position: number) => Promise<unknown> = promisify(write)

/**
 * Records on disk how far a raw file was moved into its log, exactly even if killed at any moment. Before each append
 * it notes the position in the raw file before and after, and the log's size before. If the log is larger afterwards,
 * the append happened.
 */
export class LogProgress {
  readonly #fd: number

  constructor(path: string) {
    // Neither truncated nor opened for appending: it is always rewritten from the beginning.
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o644)
  }

  async intend(fromOffset: number, toOffset: number, logSize: number): Promise<void> {
    const text = [fromOffset, toOffset, logSize].map((value) => String(value).padStart(width, '0')).join(' ')
    // A single write of constant length, so that it is never half written.
    await writeTo(this.#fd, text, 0)
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** The position to continue at in the raw file, given the log's size now. */
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
