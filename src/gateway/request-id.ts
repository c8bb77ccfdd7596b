import { randomBytes } from 'node:crypto'
import { mostNumberBytes, putNumber } from '../foundation/put-bytes.ts'
import type { HeaderField } from '../relay/header-field.ts'
import { headerField } from '../relay/header-list.ts'

/** Short and plain enough to go into headers and logs as it is. */
const acceptable = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** An id has no character that a field may not have: only the name has to be looked up, and that once. */
const { name, known } = headerField('x-request-id', '')

/** Nobody else counts under this name. */
const beginning = Buffer.from(`${name}: req-${randomBytes(12).toString('hex')}-`)
const room = Buffer.concat([beginning, Buffer.alloc(mostNumberBytes + 2)])
let count = 0

/** The client's own id when it is acceptable, else a new one, as the field that says so. */
export function requestIdField(header: string | undefined): HeaderField {
  if (header !== undefined && acceptable.test(header)) {
    return { name, value: header, line: `${name}: ${header}\r\n`, known }
  }
  // Written three times, and so made in one piece: a text that is joined from several is put together anew each time.
  const end = putNumber(room, beginning.length, ++count)
  room[end] = 13
  room[end + 1] = 10
  const line = room.toString('latin1', 0, end + 2)
  return { name, value: line.slice(name.length + 2, -2), line, known }
}
