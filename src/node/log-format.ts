/** A log line on disk, as container runtimes write it: `<time> stdout F <text>`; `P` marks a part that the next record continues. */
export type LogTag = 'F' | 'P'

const timeLength = '2030-01-01T00:00:00.000000000Z'.length
const headLength = timeLength + ' stdout F '.length

/** Fixed width and UTC, so that times compare as text. */
export function logTime(now: number): string {
  return new Date(now).toISOString().replace('Z', '000000Z')
}

export function formatRecord(now: number, tag: LogTag, text: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${logTime(now)} stdout ${tag} `), text, newline])
}

export interface LogRecord {
  readonly time: string
  readonly tag: LogTag
  readonly text: Buffer
}

/** `undefined` for a line that is no record, such as the end of a file on a disk that ran full. */
export function parseRecord(line: Buffer): LogRecord | undefined {
  if (line.length < headLength || line[timeLength] !== 0x20) return undefined
  const tag = line.toString('latin1', headLength - 2, headLength - 1)
  if (tag !== 'F' && tag !== 'P') return undefined
  return { time: line.toString('latin1', 0, timeLength), tag, text: line.subarray(headLength) }
}

/** As `kubectl logs` shows it: the time only where a line begins, the newline only where it ends. */
export function renderRecord(record: LogRecord, withTime: boolean): Buffer {
  const parts = [record.text]
  if (withTime) parts.unshift(Buffer.from(`${record.time} `))
  if (record.tag === 'F') parts.push(newline)
  return Buffer.concat(parts)
}

const newline = Buffer.from('\n')
