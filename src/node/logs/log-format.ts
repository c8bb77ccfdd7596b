/**
 * A log line on disk is `<time> stdout F <text>`, as container runtimes write it; `P` instead of `F` marks a part that
 * the next record continues.
 */
export type LogTag = 'F' | 'P'

const timeLength = '2030-01-01T00:00:00.000000000Z'.length
const headLength = timeLength + ' stdout F '.length

/** In UTC with a fixed width, so that times compare as text. */
export function logTime(now: number): string {
  return new Date(now).toISOString().replace('Z', '000000Z')
}

export function formatRecord(now: number, tag: LogTag, text: Buffer): Buffer {
  return Buffer.concat([headOf(now, tag), text, newline])
}

/** Makes records of all complete lines (long ones in parts), and returns the rest of an unfinished line. */
export function formatLines(
  now: number,
  data: Buffer,
  lineBytes: number,
): { readonly records: Buffer; readonly rest: Buffer } {
  const [whole, part] = [headOf(now, 'F'), headOf(now, 'P')]
  let records = Buffer.allocUnsafe(2 * data.length + 4096)
  let length = 0
  let begin = 0
  const add = (head: Buffer, end: number) => {
    const after = length + headLength + (end - begin) + 1
    if (after > records.length) records = Buffer.concat([records], 2 * after)
    head.copy(records, length)
    data.copy(records, length + headLength, begin, end)
    records[after - 1] = 0x0a
    length = after
  }
  for (;;) {
    // Searched only as far as a part goes: otherwise each part of an endless line would be searched to the end.
    const found = data.subarray(begin, begin + lineBytes + 1).indexOf(0x0a)
    if (found >= 0) {
      add(whole, begin + found)
      begin += found + 1
    } else if (data.length - begin > lineBytes) {
      add(part, begin + lineBytes)
      begin += lineBytes
    } else return { records: records.subarray(0, length), rest: data.subarray(begin) }
  }
}

export interface LogRecord {
  readonly time: string
  readonly tag: LogTag
  readonly text: Buffer
}

/** `undefined` for a line that is no record, as a full disk may leave at the end of a file. */
export function parseRecord(line: Buffer): LogRecord | undefined {
  if (line.length < headLength || line[timeLength] !== 0x20) return undefined
  const tag = line.toString('latin1', headLength - 2, headLength - 1)
  if (tag !== 'F' && tag !== 'P') return undefined
  return { time: line.toString('latin1', 0, timeLength), tag, text: line.subarray(headLength) }
}

/** A record as `kubectl logs` shows it: the time only where a line begins, the newline only where it ends. */
export function renderRecord(record: LogRecord, withTime: boolean): Buffer {
  const parts = [record.text]
  if (withTime) parts.unshift(Buffer.from(`${record.time} `))
  if (record.tag === 'F') parts.push(newline)
  return Buffer.concat(parts)
}

function headOf(now: number, tag: LogTag): Buffer {
  return Buffer.from(`${logTime(now)} stdout ${tag} `)
}

const newline = Buffer.from('\n')
