import { type FileHandle, open, stat } from 'node:fs/promises'
import { rotatedPath } from './log-files.ts'
import { type LogRecord, parseRecord } from './log-format.ts'

const chunkBytes = 64 * 2 ** 10

/** Reads the records of a log from the oldest part on, across rotations. Call `next` again after an append. */
export class LogReader {
  readonly #path: string
  #file: FileHandle | undefined
  #position = 0
  #rest: Buffer = Buffer.alloc(0)

  private constructor(path: string) {
    this.#path = path
  }

  /** Starts so that at most `tailLines` records are left to read; without it, at the beginning. */
  static async open(path: string, tailLines?: number): Promise<LogReader> {
    const reader = new LogReader(path)
    const older = await openIfThere(rotatedPath(path))
    const newer = await openIfThere(path)
    if (tailLines === undefined) {
      reader.#file = older ?? newer
      if (older) await newer?.close()
      return reader
    }
    const inNewer = newer ? await tailPosition(newer, tailLines) : { position: 0, lines: 0 }
    if (!older || inNewer.lines >= tailLines) {
      await older?.close()
      reader.#file = newer
      reader.#position = inNewer.position
      return reader
    }
    await newer?.close()
    reader.#file = older
    reader.#position = (await tailPosition(older, tailLines - inNewer.lines)).position
    return reader
  }

  /** The next records; none at the current end. */
  async next(): Promise<LogRecord[]> {
    for (;;) {
      if (!this.#file && !(await this.#openNext())) return []
      const { buffer, bytesRead } = (await this.#file?.read(
        Buffer.allocUnsafe(chunkBytes),
        0,
        chunkBytes,
        this.#position,
      )) ?? {
        buffer: Buffer.alloc(0),
        bytesRead: 0,
      }
      if (bytesRead > 0) {
        this.#position += bytesRead
        const records = this.#split(buffer.subarray(0, bytesRead))
        if (records.length > 0) return records
      } else if (!(await this.#openNext())) return []
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  /** Opens the file that has the log's name now, if it is not the one just read to its end. */
  async #openNext(): Promise<boolean> {
    const current = await this.#file?.stat()
    const named = await stat(this.#path).catch(() => undefined)
    if (!named || (current && current.ino === named.ino)) return false
    const next = await openIfThere(this.#path)
    if (!next) return false
    await this.#file?.close()
    this.#file = next
    this.#position = 0
    this.#rest = Buffer.alloc(0)
    return true
  }

  #split(data: Buffer): LogRecord[] {
    const records: LogRecord[] = []
    let rest = Buffer.concat([this.#rest, data])
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const record = parseRecord(rest.subarray(0, end))
      if (record) records.push(record)
      rest = rest.subarray(end + 1)
    }
    // Longer than any record, so the file is damaged: not worth holding in memory.
    this.#rest = rest.length > chunkBytes ? Buffer.alloc(0) : Buffer.from(rest)
    return records
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  return open(path, 'r').catch(() => undefined)
}

/** Where the last `lines` lines begin, and how many there really are. */
async function tailPosition(file: FileHandle, lines: number): Promise<{ position: number; lines: number }> {
  const { size } = await file.stat()
  if (lines === 0) return { position: size, lines: 0 }
  const chunk = Buffer.allocUnsafe(chunkBytes)
  let found = 0
  for (let end = size; end > 0;) {
    const begin = Math.max(0, end - chunkBytes)
    const { bytesRead } = await file.read(chunk, 0, end - begin, begin)
    for (let index = bytesRead - 1; index >= 0; index -= 1) {
      if (chunk[index] !== 0x0a) continue
      // Counting newlines from the end, number n ends the n-th last line; the newline before it begins that line.
      if (found === lines) return { position: begin + index + 1, lines: found }
      found += 1
    }
    end = begin
  }
  return { position: 0, lines: found }
}
