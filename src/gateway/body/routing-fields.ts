/** The fields of a body that decide who answers, and how. */
export interface RoutingFields {
  readonly model: string
  readonly streamed: boolean
}

/** Longer bodies are searched as bytes instead of becoming a string; only their ends are looked at. */
const longestText = 16_384
const endBytes = 1_024

/** A member's name with its quotes, in two parts: the second is searched for, because it is rarer than a quote. */
interface QuotedName {
  readonly before: Buffer
  readonly searched: string
}
const modelName: QuotedName = { before: Buffer.from('"'), searched: 'model"' }
const streamName: QuotedName = { before: Buffer.from('"st'), searched: 'ream"' }

// Matches a member's value and all that follows it, if that contains no object or list.
const scalar = String.raw`(?:"[^"\\]*"|-?\d[\d.eE+-]*|true|false|null)`
const lastMembers = new RegExp(String.raw`${scalar}(?:\s*,\s*"[^"\\]*"\s*:\s*${scalar})*\s*\}\s*$`, 'y')

/** After this many false matches, parsing is faster than searching on. */
const mostLookalikes = 16

const absent = -1
const unsure = -2

/**
 * Finds `model` and `stream` without parsing the rest: conversations with images are long, and routing needs nothing
 * else. If the body is valid JSON, the result is what `JSON.parse` would find; validity is checked elsewhere. If there
 * is any doubt (a name occurs twice, may be nested, or may be hidden by an escape), it returns nothing.
 */
export function findRoutingFields(body: Buffer): RoutingFields | undefined {
  const isShort = body.length <= longestText
  const begin = body.toString('latin1', 0, isShort ? body.length : endBytes)
  const end = isShort ? begin : body.toString('latin1', body.length - endBytes)
  const searched = isShort ? begin : body
  if (!isBraced(body) || (searched.includes('\\') && searched.includes('\\u'))) return undefined
  const ends = { body, searched, begin, end, endAt: isShort ? 0 : body.length - endBytes }
  const modelAt = memberAt(ends, modelName)
  const streamAt = modelAt < 0 ? unsure : memberAt(ends, streamName)
  if (streamAt === unsure) return undefined
  const model = plainString(ends, modelAt)
  if (model === undefined) return undefined
  return { model, streamed: streamAt !== absent && body[streamAt] === 116 }
}

interface Ends {
  readonly body: Buffer
  readonly searched: string | Buffer
  readonly begin: string
  readonly end: string
  readonly endAt: number
}

/** Where the value of the outermost object's member begins. */
function memberAt(ends: Ends, name: QuotedName): number {
  const { body, end, endAt } = ends
  const at = quotedAt(ends, name, 0)
  if (at < 0) return at
  const behind = at + name.before.length + name.searched.length
  // A quote after a backslash does not end a string, and a repeated name may be another member or a value.
  if (body[at - 1] === 92 || quotedAt(ends, name, behind) !== absent) return unsure
  const colon = blanksEnd(body, behind)
  if (body[colon] !== 58) return unsure
  const value = blanksEnd(body, colon + 1)
  if (blanksEnd(body, blanksEnd(body, 0) + 1) === at) return value
  // If only scalars follow up to the end, the member is in the outermost object.
  if (value < endAt || body.length - value > endBytes) return unsure
  lastMembers.lastIndex = value - endAt
  return lastMembers.test(end) ? value : unsure
}

function quotedAt({ body, searched }: Ends, { before, searched: rest }: QuotedName, from: number): number {
  let at = searched.indexOf(rest, from)
  for (let seen = 0; at >= 0 && seen < mostLookalikes; seen++) {
    const start = at - before.length
    if (start >= 0 && isAt(before, body, start)) return start
    at = searched.indexOf(rest, at + 1)
  }
  return at < 0 ? absent : unsure
}

function isAt(expected: Buffer, bytes: Buffer, start: number): boolean {
  for (let index = 0; index < expected.length; index++) if (bytes[start + index] !== expected[index]) return false
  return true
}

/** Reads a string without escapes, in ASCII. */
function plainString({ body, begin, end, endAt }: Ends, quote: number): string | undefined {
  if (body[quote] !== 34) return undefined
  const start = quote + 1
  let close = start
  while (isPlain(body[close])) close++
  if (body[close] !== 34 || close === start) return undefined
  if (close <= begin.length) return begin.slice(start, close)
  return start >= endAt ? end.slice(start - endAt, close - endAt) : undefined
}

/** Printable ASCII except the quote and the backslash. */
function isPlain(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 32 && byte < 127 && byte !== 34 && byte !== 92
}

/** Whether this looks like a whole object; nothing else is searched. */
function isBraced(body: Buffer): boolean {
  let last = body.length - 1
  while (isBlank(body[last])) last--
  return body[blanksEnd(body, 0)] === 123 && body[last] === 125
}

function blanksEnd(bytes: Buffer, start: number): number {
  let at = start
  while (isBlank(bytes[at])) at++
  return at
}

function isBlank(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9
}
