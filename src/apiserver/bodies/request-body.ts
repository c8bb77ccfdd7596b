import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { asError } from '../../foundation/errors.ts'
import { StatusError } from '../../resources/status-error.ts'
import { bounded, mostValues, refuseManyCommas, tooDeep } from './body-values.ts'
import { duplicateFields } from './duplicate-fields.ts'
import type { Turns } from '../flow-control/flow-control.ts'
import { type JsonObject, isDeeperThan } from '../../resources/json-value.ts'
import { protobufType, readProtobuf } from '../protobuf/protobuf-body.ts'
import { type BodyReading, deepest as deepestManifest, readManifest } from './apply-body.ts'

export interface BodyLimits {
  readonly bodyBytes: number
  readonly jsonDepth: number
}

/** What the reading of a body needs of the request it belongs to. */
export interface BodyOwner {
  /** Told of the bytes as they arrive; throws when they are too many for the sender. */
  readonly book: (bytes: number) => void
  /** The sender's turns at the event loop. */
  readonly turns: () => Turns | undefined
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: () => AbortSignal
}

const largeBody = 256 * 1024
/** The first byte of a manifest that is JSON. */
const openBrace = 0x7b

/** The body of a request in any format, read once and within bounds. */
export class RequestBody {
  readonly #request: IncomingMessage
  readonly #limits: BodyLimits
  readonly #book: (bytes: number) => void
  readonly #turns: () => Turns | undefined
  readonly #signal: () => AbortSignal
  /** The most fields and items. Whoever knows what the body is about may raise it. */
  mostValues = mostValues
  #body: Promise<Buffer> | undefined
  #mediaType: string | undefined
  #jsonText: string | undefined

  constructor(request: IncomingMessage, limits: BodyLimits, { book, turns, signal }: BodyOwner) {
    this.#request = request
    this.#limits = limits
    this.#book = book
    this.#turns = turns
    this.#signal = signal
  }

  get mediaType(): string {
    return (this.#mediaType ??= (this.#request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '')
  }

  /**
   * The body as an object; `undefined` when it is empty. Refuses whatever is neither JSON, YAML nor a known protobuf
   * message.
   */
  async readObject(): Promise<unknown> {
    const { mediaType } = this
    if (mediaType === 'application/json' || mediaType === '') return this.#readJson()
    if (mediaType === protobufType) {
      const bytes = await this.#readBody()
      return bytes.length === 0
        ? undefined
        : this.#afterTurn(bytes.length, bounded(readProtobuf(bytes, this.mostValues), this.mostValues))
    }
    if (mediaType === 'application/yaml') {
      const text = await this.readText()
      return text === '' ? undefined : bounded(await readManifest(text, this.#reading()), this.mostValues)
    }
    const message =
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml'
    throw new StatusError('UnsupportedMediaType', message)
  }

  /** Paths of fields that occur more than once in the JSON body. */
  duplicateFields(): readonly string[] {
    return this.#jsonText === undefined ? [] : duplicateFields(this.#jsonText).map(({ path }) => path)
  }

  /** The body as JSON, whatever its media type; `undefined` when it is empty. */
  readJson(): Promise<unknown> {
    return this.#readJson()
  }

  async #readJson(): Promise<unknown> {
    const bytes = await this.#readBody()
    const value = this.#parseJson(bytes)
    return bytes.length > largeBody ? this.#afterTurn(bytes.length, value) : value
  }

  /** Lets others have their turn after a long body was read, before it is dealt with. */
  async #afterTurn<T>(size: number, value: T): Promise<T> {
    if (size > largeBody) await (this.#turns()?.next() ?? nextTurn())
    return value
  }

  #parseJson(bytes: Buffer): unknown {
    if (bytes.length === 0) return undefined
    refuseManyCommas(bytes, this.mostValues, this.#limits.jsonDepth)
    let value: unknown
    try {
      if (!isUtf8(bytes)) throw new Error('not UTF-8')
      this.#jsonText = bytes.toString('utf8')
      value = JSON.parse(this.#jsonText)
    } catch (error) {
      // The parser quotes the text it failed at, which may be part of a Secret: only the position is told.
      const where = /at position \d+/.exec(error instanceof Error ? error.message : '')?.[0]
      throw new StatusError(
        'BadRequest',
        `the body is not valid JSON${where ? ` (${where})` : ''}`,
        {},
        { cause: error },
      )
    }
    // The depth of a longer text was checked before parsing. A shorter one cannot have too many values, since each
    // takes a byte at least.
    if (bytes.length > this.mostValues) return bounded(value, this.mostValues)
    if (isDeeperThan(value, this.#limits.jsonDepth)) throw tooDeep(this.#limits.jsonDepth)
    return value
  }

  async readManifest(reading: BodyReading): Promise<JsonObject> {
    const bytes = await this.#readBody()
    if (bytes[0] === openBrace) refuseManyCommas(bytes, this.mostValues, deepestManifest)
    const text = await this.readText()
    return this.#afterTurn(text.length, bounded(await readManifest(text, this.#reading(reading)), this.mostValues))
  }

  #reading(reading: BodyReading = {}): BodyReading {
    return { ...reading, mostValues: this.mostValues, signal: this.#signal }
  }

  /** The body as text, whatever its format. */
  async readText(): Promise<string> {
    const bytes = await this.#readBody()
    if (!isUtf8(bytes)) throw new StatusError('BadRequest', 'the body is not UTF-8')
    return bytes.toString('utf8')
  }

  /** Reads the body before it is needed, so that a slow sender does not occupy a place that others wait for. */
  async gather(): Promise<void> {
    this.#body = this.#readBody()
    await this.#body
  }

  #readBody(): Promise<Buffer> {
    if (this.#body) return this.#body
    const { bodyBytes } = this.#limits
    const tooLarge = () => new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${bodyBytes}`)
    if (Number(this.#request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge()
    if (this.#request.headers['content-encoding'] !== undefined) {
      throw new StatusError('UnsupportedMediaType', 'encoded request bodies are not supported')
    }
    return collect(this.#request, bodyBytes, tooLarge, this.#book)
  }
}

/** Uses listeners instead of an async iterator: several times as fast for bodies of one chunk, which most are. */
function collect(
  request: IncomingMessage,
  limit: number,
  tooLarge: () => StatusError,
  book: (bytes: number) => void,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  let ended = false
  return new Promise((resolve, reject) => {
    const refuse = (why: unknown) => {
      // The rest is neither kept nor read.
      ended = true
      chunks.length = 0
      request.pause()
      reject(asError(why))
    }
    request.on('data', (chunk: Buffer) => {
      if (ended) return
      size += chunk.length
      if (size > limit) return refuse(tooLarge())
      try {
        book(chunk.length)
      } catch (error) {
        return refuse(error)
      }
      chunks.push(chunk)
    })
    request.once('end', () => {
      ended = true
      const [only] = chunks
      resolve(only && chunks.length === 1 ? only : Buffer.concat(chunks, size))
    })
    request.once('error', reject)
    request.once('close', () => {
      // Every request is closed in the end; only one that is closed early is an error.
      if (!ended) reject(new Error('the connection was closed'))
    })
  })
}
