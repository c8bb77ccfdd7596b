import { randomBytes } from 'node:crypto'
import { mostNumberBytes, putNumber } from '../../relay/bytes/put-bytes.ts'
import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'
import type { LogLine } from './log-line.ts'

/** Ids that are short and plain enough for headers and logs. */
const acceptable = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** The field's name is looked up once; an acceptable id is always a valid value. */
const { name, known } = headerField('x-request-id', '')

/** A random prefix, so that ids of different processes differ. */
const ownName = Buffer.from(`req-${randomBytes(12).toString('hex')}-`)
const beginning = Buffer.concat([Buffer.from(`${name}: `), ownName])
const room = Buffer.concat([beginning, Buffer.alloc(mostNumberBytes + 2)])
let last = 0

/** A request's id as a header field. */
export interface RequestIdField extends HeaderField {
  /**
   * The number that one of our ids ends with, remembered so that the log can write it as a number; 0 for a client's id.
   */
  readonly count: number
}

/** The client's own id if it is acceptable, else a new one. */
export function requestIdField(header: string | undefined): RequestIdField {
  if (header !== undefined && acceptable.test(header)) {
    return { name, value: header, line: `${name}: ${header}\r\n`, known, count: 0 }
  }
  const count = ++last
  const end = putNumber(room, beginning.length, count)
  room[end] = 13
  room[end + 1] = 10
  // One flat string: a concatenation would be flattened each time it is written.
  const line = room.toString('latin1', 0, end + 2)
  return { name, value: line.slice(name.length + 2, -2), line, known, count }
}

/** Writes an id to the log from its parts, because a slice of a string takes several times as long. */
export function writeRequestId({ value, count }: RequestIdField, into: LogLine): void {
  if (count === 0) return into.text(value)
  into.bytes(ownName)
  into.number(count)
}
