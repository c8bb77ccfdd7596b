import { SluiceError } from '../foundation/errors.ts'
import type { Exchange } from '../relay/exchange.ts'
import type { BodyShare } from './body-budget.ts'
import { glanceAt } from './json-glance.ts'
import type { JsonScanner } from './json-scanner.ts'
import { SlicedJson } from './sliced-json.ts'
import type { TurnWork } from './turn-work.ts'

/** What routing needs of a JSON body. */
export interface JsonAsked {
  /** Whatever stands there. */
  readonly model: unknown
  readonly streamed: boolean
  /** It, or where it is large at least as much of its beginning as tells prompts apart. */
  readonly body: Buffer
  /** Whether it is valid has not been looked at. Where it is too large to be parsed at once, this does. */
  readonly check?: (() => Promise<unknown>) | undefined
}

/** A longer body is never parsed at once, but scanned in turns of the event loop. */
const parsedBytes = 65_536
/** A longer one is not even searched at once. */
const glancedBytes = 262_144
const startBytes = 65_536

/** At once when all of it is here and it is plain, as it is with most requests. */
export function readJsonBody(exchange: Exchange, share: BodyShare, work: TurnWork): JsonAsked | Promise<JsonAsked> {
  const body = share.arrived(exchange)
  return body ? askedIn(body, work) : readComing(exchange, share, work)
}

async function readComing(exchange: Exchange, share: BodyShare, work: TurnWork): Promise<JsonAsked> {
  if (announcedBytes(exchange) <= glancedBytes) {
    await share.readWhole(exchange, () => {})
    return askedIn(share.arrived(exchange) ?? noBytes, work)
  }
  const json = new SlicedJson(work, { checksTexts: false })
  try {
    await share.readWhole(exchange, (piece) => {
      // What can only be refused need not be read to its end.
      if (json.failure) throw json.failure
      json.push(piece)
    })
    return found(await json.finish(), exchange.keptBody, work)
  } finally {
    json.abandon()
  }
}

/** What a body names that may be anything and goes on as it is; all of it is read. */
export async function readLooseModel(exchange: Exchange, share: BodyShare, work: TurnWork): Promise<unknown> {
  if (!share.arrived(exchange)) await share.readWhole(exchange, () => {})
  const pieces = exchange.keptBody
  try {
    const [first = noBytes] = pieces
    const asked = pieces.length > 1 ? found(await scan(pieces, work, true), pieces, work) : await askedIn(first, work)
    return asked.model
  } catch {
    return undefined
  }
}

function askedIn(body: Buffer, work: TurnWork): JsonAsked | Promise<JsonAsked> {
  if (body.length > glancedBytes) return scan([body], work, false).then((scanner) => found(scanner, [body], work))
  const glance = glanceAt(body)
  if (body.length > parsedBytes) {
    if (!glance) return scan([body], work, false).then((scanner) => found(scanner, [body], work))
    return { ...glance, body, check: () => scan([body], work, true) }
  }
  if (glance) return { model: glance.model, streamed: glance.streamed, body }
  const { model, stream } = parseJson(body)
  return { model, streamed: stream === true, body }
}

function found({ model, streamed }: JsonScanner, pieces: readonly Buffer[], work: TurnWork): JsonAsked {
  return { model, streamed, body: startOf(pieces), check: () => scan(pieces, work, true) }
}

function scan(pieces: readonly Buffer[], work: TurnWork, checksTexts: boolean): Promise<JsonScanner> {
  const json = new SlicedJson(work, { checksTexts })
  for (const piece of pieces) json.push(piece)
  return json.finish()
}

function startOf(pieces: readonly Buffer[]): Buffer {
  const [first = noBytes] = pieces
  if (first.length >= startBytes) return first.subarray(0, startBytes)
  const start: Buffer[] = []
  let bytes = 0
  for (const piece of pieces) {
    if (bytes >= startBytes) break
    start.push(piece)
    bytes += piece.length
  }
  return Buffer.concat(start).subarray(0, startBytes)
}

/** Without a length anything may come. */
function announcedBytes({ head }: Exchange): number {
  const length = head.headers.get('content-length')
  return head.headers.get('transfer-encoding') === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY
}

/** Throws `invalid_json` for what no model's server could read. For what is not large. */
export function parseJson(body: Buffer): { model?: unknown; stream?: unknown } {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new SluiceError('invalid_json', { reason: whyInvalid(body, String(error)) })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SluiceError('invalid_json', { reason: 'it is not an object' })
  }
  return value
}

/** Node's own message quotes the body, which may be long; the place is what helps. */
function whyInvalid(body: Buffer, message: string): string {
  if (body.length === 0) return 'it is empty'
  if (message.includes('Unexpected end')) return 'it ends too early'
  const place = / at position \d+/.exec(message)?.[0] ?? ''
  return `it has an unexpected character${place}`
}

const noBytes = Buffer.alloc(0)
