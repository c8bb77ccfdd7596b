import { asError, SluiceError } from '../foundation/errors.ts'
import { type BodyDecoder, LengthDecoder } from './body-decoder.ts'
import type { HeaderField } from './header-field.ts'

/** What takes a body as it arrives. After `onEnd` or `onError` nothing more comes. */
export interface BodyConsumer {
  /** Returns false when it wants no more until `resume`. */
  onPieces(pieces: readonly Buffer[]): boolean
  onEnd(trailers: readonly HeaderField[]): void
  onError(error: Error): void
}

/** What the body asks of its connection. */
export interface BodySource {
  pause(): void
  resume(): void
  /** The first time somebody wants a body that has not fully arrived: the moment for `100 Continue`. */
  wanted(): void
}

/** Unwanted bytes kept until somebody asks; beyond it the client's socket is paused. */
const unclaimedLimitBytes = 65_536

/** The body of one request: decoded as it arrives, held within a bound, taken by one consumer at a time. */
export class RequestBody {
  readonly #decoder: BodyDecoder
  readonly #source: BodySource
  readonly declared: boolean
  #unclaimed: Buffer[] = []
  #unclaimedBytes = 0
  #consumer: BodyConsumer | undefined
  #kept: Buffer | undefined
  #taken = false
  #failure: Error | undefined
  #ended = false
  #blocked = false

  /** `declared`: the head announced a body, were it an empty one. */
  constructor(decoder: BodyDecoder, declared: boolean, source: BodySource) {
    this.#decoder = decoder
    this.#source = source
    this.declared = declared
  }

  /** Whether all of it has arrived; nothing more of the connection's input belongs to it. */
  get arrived(): boolean {
    return this.#decoder.done
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  /** Whether a consumer took bytes that cannot be had again. */
  get consumed(): boolean {
    return this.#taken && this.#kept === undefined
  }

  /** Known once it has arrived. */
  get trailers(): readonly HeaderField[] {
    return this.#decoder.trailers
  }

  get kept(): Buffer | undefined {
    return this.#kept
  }

  /** How much is certain to be still on its way; 0 when the head did not say. */
  get knownRemaining(): number {
    return this.#decoder instanceof LengthDecoder ? this.#decoder.remaining : 0
  }

  /** When all of it is here and nobody took it, keeps it as one buffer: small bodies can then be sent again. */
  keepIfArrived(): Buffer | undefined {
    if (this.#kept || this.#taken || !this.arrived || this.#failure) return this.#kept
    this.#kept = joinBuffers(this.#unclaimed, this.#unclaimedBytes)
    this.#unclaimed = []
    this.#ended = true
    return this.#kept
  }

  /** Takes input from `start`; returns the offset of what belongs to the next request. */
  push(chunk: Buffer, start: number): number {
    if (this.#failure || this.#decoder.done) return start
    if (this.#keepWhole(chunk, start)) return start + (this.#kept?.length ?? 0)
    const pieces: Buffer[] = []
    let end = chunk.length
    try {
      end = this.#decoder.push(chunk, start, pieces)
    } catch (error) {
      this.fail(asError(error))
      return chunk.length
    }
    if (this.#consumer && !this.#blocked) this.#deliver(this.#consumer, pieces)
    else this.#hold(pieces)
    this.#endIfDone()
    return end
  }

  /** Where all of it comes at once and nobody asked for it yet, as with most requests, there is nothing to be held and joined. */
  #keepWhole(chunk: Buffer, start: number): boolean {
    if (this.#taken || this.#consumer || this.#unclaimedBytes > 0 || !(this.#decoder instanceof LengthDecoder))
      return false
    this.#kept = this.#decoder.takeRest(chunk, start)
    this.#ended = this.#kept !== undefined
    return this.#ended
  }

  /** The client broke the framing, stalled or left. */
  fail(error: Error): void {
    if (this.#failure || this.#decoder.done) return
    this.#failure = error
    this.#unclaimed = []
    const consumer = this.#consumer
    this.#consumer = undefined
    consumer?.onError(error)
  }

  consume(consumer: BodyConsumer): void {
    if (this.#failure) return consumer.onError(this.#failure)
    if (this.#ended) throw new Error('the body was already taken')
    this.#consumer = consumer
    this.#blocked = false
    if (!this.arrived) this.#source.wanted()
    this.#deliverHeld(consumer)
  }

  /** The consumer has room again. */
  resume(): void {
    if (!this.#blocked) return
    this.#blocked = false
    if (this.#consumer) this.#deliverHeld(this.#consumer)
  }

  /** The consumer wants no more of it. */
  release(): void {
    this.#consumer = undefined
    this.#blocked = false
  }

  /** Whatever still comes is thrown away. */
  discard(): void {
    this.#unclaimed = []
    this.#unclaimedBytes = 0
    this.#blocked = false
    this.#consumer = { onPieces: () => true, onEnd: () => {}, onError: () => {} }
  }

  async readAll(limitBytes: number): Promise<Buffer> {
    if (this.#kept) return withinLimit(this.#kept, limitBytes)
    if (this.knownRemaining + this.#unclaimedBytes > limitBytes) throw tooLarge(limitBytes)
    const pieces: Buffer[] = []
    let bytes = 0
    await new Promise<void>((resolve, reject) => {
      this.consume({
        onPieces: (more) => {
          for (const piece of more) bytes += piece.length
          if (bytes > limitBytes) {
            this.release()
            reject(tooLarge(limitBytes))
            return true
          }
          pieces.push(...more)
          return true
        },
        onEnd: () => resolve(),
        onError: reject,
      })
    })
    this.#kept = joinBuffers(pieces, bytes)
    return this.#kept
  }

  /** Stops taking the body where somebody has seen enough of it; what was seen is handed out again to who comes next. */
  async readUntil(limitBytes: number, enough: (piece: Buffer) => boolean): Promise<void> {
    const seen: Buffer[] = []
    let bytes = 0
    let satisfied = false
    const look = (pieces: readonly Buffer[]): void => {
      for (const piece of pieces) {
        seen.push(piece)
        bytes += piece.length
        satisfied ||= enough(piece)
        if (bytes > limitBytes && !satisfied) throw tooLarge(limitBytes)
      }
    }
    if (this.#kept) return look([this.#kept])
    await new Promise<void>((resolve, reject) => {
      this.consume({
        onPieces: (pieces) => {
          try {
            look(pieces)
          } catch (error) {
            this.release()
            reject(asError(error))
            return true
          }
          if (satisfied) {
            this.#putBack(seen, bytes)
            resolve()
          }
          return true
        },
        onEnd: () => {
          this.#kept = joinBuffers(seen, bytes)
          resolve()
        },
        onError: reject,
      })
    })
  }

  #putBack(pieces: Buffer[], bytes: number): void {
    this.release()
    this.#unclaimed = pieces
    this.#unclaimedBytes = bytes
    this.#taken = false
  }

  #hold(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      this.#unclaimed.push(piece)
      this.#unclaimedBytes += piece.length
    }
    if (this.#unclaimedBytes >= unclaimedLimitBytes && !this.arrived) this.#source.pause()
  }

  #deliverHeld(consumer: BodyConsumer): void {
    const held = this.#unclaimed
    this.#unclaimed = []
    this.#unclaimedBytes = 0
    this.#deliver(consumer, held)
    this.#endIfDone()
    if (!this.#blocked) this.#source.resume()
  }

  #deliver(consumer: BodyConsumer, pieces: readonly Buffer[]): void {
    if (pieces.length === 0) return
    this.#taken = true
    if (consumer.onPieces(pieces)) return
    this.#blocked = true
    this.#source.pause()
  }

  #endIfDone(): void {
    if (!this.arrived || this.#ended || !this.#consumer || this.#unclaimedBytes > 0) return
    this.#ended = true
    const consumer = this.#consumer
    this.#consumer = undefined
    consumer.onEnd(this.#decoder.trailers)
  }
}

function joinBuffers(pieces: readonly Buffer[], bytes: number): Buffer {
  const [first] = pieces
  return pieces.length === 1 && first ? first : Buffer.concat(pieces, bytes)
}

export function withinLimit(body: Buffer, limitBytes: number): Buffer {
  if (body.length > limitBytes) throw tooLarge(limitBytes)
  return body
}

function tooLarge(limitBytes: number): SluiceError {
  return new SluiceError('body_too_large', { limitBytes })
}
