import { SluiceError } from '../../foundation/errors.ts'
import type { Exchange } from '../../relay/exchange.ts'
import type { BodyShare } from './body-budget.ts'
import type { JsonScanner } from './json-scanner.ts'
import { findRoutingFields } from './routing-fields.ts'
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
const searchedBytes = 262_144
const startBytes = 65_536

/** The body of one request, and what reading it takes. */
export interface BodySource {
  readonly exchange: Exchange
  readonly share: BodyShare
  readonly work: TurnWork
}

export type Fail = (error: unknown) => void

/** Goes on with `goOn` before it returns when all of the body is here and it is plain, as it is with most requests. */
export function readJsonBody(source: BodySource, goOn: (asked: JsonAsked) => void, fail: Fail): void {
  const { exchange, share, work } = source
  if (!exchange.bodyArrived && announcedBytes(exchange) > searchedBytes) return readLarge(source, goOn, fail)
  const look = () => {
    const body = exchange.joinedBody()
    const asked = askedIn(body, work)
    if (asked) goOn(asked)
    else scanFor([body], work, goOn, fail)
  }
  share.readWhole(exchange, ignore, look, fail)
}

/** Scans it while it comes. */
function readLarge({ exchange, share, work }: BodySource, goOn: (asked: JsonAsked) => void, fail: Fail): void {
  const json = new SlicedJson(work, { checksTexts: false })
  const scan = (piece: Buffer) => {
    // What can only be refused need not be read to its end.
    if (json.failure) throw json.failure
    json.push(piece)
  }
  const giveUp: Fail = (error) => {
    json.abandon()
    fail(error)
  }
  const finish = () => {
    json
      .finish()
      .then((scanner) => goOn(found(scanner, exchange.keptBody, work)))
      .catch(giveUp)
  }
  share.readWhole(exchange, scan, finish, giveUp)
}

/** What a body names that may be anything and goes on as it is; all of it is read. */
export function readLooseModel(source: BodySource, goOn: (model: unknown) => void, fail: Fail): void {
  const { exchange, share, work } = source
  const look = () => {
    const pieces = exchange.keptBody
    const [first = noBytes] = pieces
    let asked: JsonAsked | undefined
    try {
      asked = pieces.length > 1 ? undefined : askedIn(first, work)
    } catch {
      return goOn(undefined)
    }
    if (asked) return goOn(asked.model)
    scan(pieces, work, pieces.length > 1)
      .then(
        ({ model }) => model,
        () => undefined,
      )
      .then(goOn)
      .catch(fail)
  }
  share.readWhole(exchange, ignore, look, fail)
}

/** What is found at once; `undefined` for what is too large to be looked at in one turn of the event loop. */
function askedIn(body: Buffer, work: TurnWork): JsonAsked | undefined {
  if (body.length > searchedBytes) return undefined
  const fields = findRoutingFields(body)
  if (body.length > parsedBytes) return fields && { ...fields, body, check: () => scan([body], work, true) }
  if (fields) return { model: fields.model, streamed: fields.streamed, body }
  const { model, stream } = parseJson(body)
  return { model, streamed: stream === true, body }
}

/** Here a promise is made: others have their turn meanwhile. */
function scanFor(pieces: readonly Buffer[], work: TurnWork, goOn: (asked: JsonAsked) => void, fail: Fail): void {
  scan(pieces, work, false)
    .then((scanner) => goOn(found(scanner, pieces, work)))
    .catch(fail)
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
const ignore = (): void => {}
