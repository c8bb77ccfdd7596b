import { randomBytes } from 'node:crypto'
import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'

/** Short and plain enough to go into headers and logs as it is. */
const acceptable = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** An id has no character that a field may not have: only the name has to be looked up, and that once. */
const { name, known } = headerField('x-request-id', '')

/** Nobody else counts under this name. */
const ownName = `req-${randomBytes(12).toString('hex')}-`
let last = 0

/** A request's id, as the field that says so: the client's own when it is acceptable, else a new one. */
export function requestIdField(header: string | undefined): HeaderField {
  const value = header !== undefined && acceptable.test(header) ? header : `${ownName}${++last}`
  return { name, value, line: `${name}: ${value}\r\n`, known }
}
