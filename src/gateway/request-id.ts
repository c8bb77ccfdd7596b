import { randomBytes } from 'node:crypto'

/** Short and plain enough to go into headers and logs as it is. */
const acceptable = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** Nobody else counts under this name. */
const counter = randomBytes(12).toString('hex')
let count = 0

/** The client's own id when it is acceptable, else a new one. */
export function requestIdFrom(header: string | undefined): string {
  return header !== undefined && acceptable.test(header) ? header : `req-${counter}-${++count}`
}
