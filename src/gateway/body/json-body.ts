import { SluiceError } from '../../foundation/errors.ts'
import type { Exchange } from '../../relay/exchange.ts'
import type { BodyShare } from './body-budget.ts'
import type { JsonScanner } from './json-scanner.ts'
import { findRoutingFields } from './routing-fields.ts'
import { SlicedJson } from './sliced-json.ts'
import type { TurnWork } from './turn-work.ts'

/** What routing needs of a JSON body. */
export interface JsonAsked {
  /** The value of `model`, whatever its type. */
  readonly model: unknown
  readonly streamed: boolean
  /** The body; of a large one at least enough to tell prompts apart. */
  readonly body: Buffer
  /** Set if the body is too large to be parsed at once: checks whether it is valid. */
  readonly check?: (() => Promise<unknown>) | undefined
}

/** Longer bodies are scanned in slices, over several turns of the event loop, instead of parsed at once. */
const parsedBytes = 65_536
/** Longer bodies are not even searched at once. */
const searchedBytes = 262_144
const startBytes = 65_536

/** One request's body, and what is needed to read it. */
export interface BodySource {
  readonly exchange: Exchange
  readonly share: BodyShare
  readonly work: TurnWork
}

export type Fail = (error: unknown) => void

/** Reads the body and calls `goOn`, before it returns if the whole body is here and simple, as in most requests. */
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

/** Scans a large body while it arrives. */
function readLarge({ exchange, share, work }: BodySource, goOn: (asked: JsonAsked) => void, fail: Fail): void {
  const json = new SlicedJson(work, { checksTexts: false })
  const scan = (piece: Buffer) => {
    // A body that has to be refused is not read to its end.
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

/** A body that was read whole, with another name of its model. */
export async function renameModel(exchange: Exchange, work: TurnWork, name: string): Promise<readonly Buffer[]> {
  const body = exchange.joinedBody()
  const { modelRange } = await scan([body], work, false)
  if (!modelRange) throw new SluiceError('invalid_json', { reason: 'its model cannot be read' })
  const { start, end } = modelRange
  return [body.subarray(0, start), Buffer.from(JSON.stringify(name)), body.subarray(end)]
}

/** Reads a whole body of any content and finds the model it names, if any. */
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

/** What a search at once finds; `undefined` if the body is too large for that. */
function askedIn(body: Buffer, work: TurnWork): JsonAsked | undefined {
  if (body.length > searchedBytes) return undefined
  const fields = findRoutingFields(body)
  if (body.length > parsedBytes) return fields && { ...fields, body, check: () => scan([body], work, true) }
  if (fields) return { model: fields.model, streamed: fields.streamed, body }
  const { model, stream } = parseJson(body)
  return { model, streamed: stream === true, body }
}

/** This waits, with a promise: other requests get their turns meanwhile. */
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

/** Without an announced length, a body may become large. */
function announcedBytes({ head }: Exchange): number {
  const length = head.headers.get('content-length')
  return head.headers.get('transfer-encoding') === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY
}

/** Throws `invalid_json` if the body is not valid. For small bodies. */
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

/** Node's message quotes the body, which may be long; only the position helps. */
function whyInvalid(body: Buffer, message: string): string {
  if (body.length === 0) return 'it is empty'
  if (message.includes('Unexpected end')) return 'it ends too early'
  const place = / at position \d+/.exec(message)?.[0] ?? ''
  return `it has an unexpected character${place}`
}

const noBytes = Buffer.alloc(0)
const ignore = (): void => {}
