import { asError, SluiceError } from '../../foundation/errors.ts'
import { HeldPieces } from '../bytes/held-pieces.ts'
import { type BodyDecoder, LengthDecoder } from '../http/body-decoder.ts'
import type { HeaderField } from '../http/header-field.ts'

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
/** More pieces than these in one read are chunks of a few bytes, and are handled as one. */
const mostPieces = 32

const nothing: readonly Buffer[] = []
const noBytes = Buffer.alloc(0)

/** The body of one request: decoded as it arrives, held within a bound, taken by one consumer at a time. */
export class RequestBody {
  readonly #decoder: BodyDecoder
  readonly #source: BodySource
  readonly declared: boolean
  #unclaimed: HeldPieces | undefined
  #consumer: BodyConsumer | undefined
  #kept: readonly Buffer[] | undefined
  #keptBytes = 0
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

  /** Whether all of it can be had now. */
  get isHere(): boolean {
    return this.#kept !== undefined || (this.arrived && !this.#taken && !this.#failure)
  }

  /** Known once it has arrived. */
  get trailers(): readonly HeaderField[] {
    return this.#decoder.trailers
  }

  /** All of it, in pieces as they came, once somebody had it kept. */
  get kept(): readonly Buffer[] | undefined {
    return this.#kept
  }

  get keptBytes(): number {
    return this.#keptBytes
  }

  /** How much is certain to be still on its way; 0 when the head did not say. */
  get knownRemaining(): number {
    return this.#decoder instanceof LengthDecoder ? this.#decoder.remaining : 0
  }

  /** When all of it is here and nobody took it, keeps it: small bodies can then be sent again. */
  keepIfArrived(): readonly Buffer[] | undefined {
    if (this.#kept || this.#taken || !this.arrived || this.#failure) return this.#kept
    this.#keep(this.#unclaimed)
    this.#unclaimed = undefined
    this.#ended = true
    return this.#kept
  }

  /** What is kept as one buffer. */
  joined(): Buffer {
    const kept = this.#kept ?? nothing
    if (kept.length <= 1) return kept[0] ?? noBytes
    const whole = Buffer.concat(kept, this.#keptBytes)
    this.#kept = [whole]
    return whole
  }

  /** Shows what is kept, until it is enough; returns why that cannot be, if it cannot. */
  showKept(limitBytes: number, enough: (piece: Buffer) => unknown): Error | undefined {
    if (this.#keptBytes > limitBytes) return tooLarge(limitBytes)
    try {
      for (const piece of this.#kept ?? nothing) if (enough(piece) === true) break
      return undefined
    } catch (error) {
      return asError(error)
    }
  }

  /** Takes input from `start`; returns the offset of what belongs to the next request. */
  push(chunk: Buffer, start: number): number {
    if (this.#failure || this.#decoder.done) return start
    if (this.#keepWhole(chunk, start)) return start + this.#keptBytes
    let pieces: Buffer[] = []
    let end = chunk.length
    try {
      end = this.#decoder.push(chunk, start, pieces)
    } catch (error) {
      this.fail(asError(error))
      return chunk.length
    }
    if (pieces.length > mostPieces) pieces = [Buffer.concat(pieces)]
    if (this.#consumer && !this.#blocked) this.#deliver(this.#consumer, pieces)
    else this.#hold(pieces)
    this.#endIfDone()
    return end
  }

  /**
   * Where all of it comes at once and nobody asked for it yet, as with most requests, there is nothing to be held and
   * joined.
   */
  #keepWhole(chunk: Buffer, start: number): boolean {
    if (this.#taken || this.#consumer || this.#unclaimed || !(this.#decoder instanceof LengthDecoder)) return false
    const whole = this.#decoder.takeRest(chunk, start)
    if (!whole) return false
    this.#kept = [whole]
    this.#keptBytes = whole.length
    this.#ended = true
    return true
  }

  #keep(held: HeldPieces | undefined): void {
    this.#kept = held?.pieces ?? nothing
    this.#keptBytes = held?.bytes ?? 0
  }

  /** The client broke the framing, stalled or left. */
  fail(error: Error): void {
    if (!this.#decoder.done) this.#end(error)
  }

  #end(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.#unclaimed = undefined
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
    this.#unclaimed = undefined
    this.#blocked = false
    this.#consumer = { onPieces: () => true, onEnd: () => {}, onError: () => {} }
  }

  /** Keeps all of it; `look` sees it piece by piece. Nothing is read of what is announced as too long. */
  async readAll(limitBytes: number, look: (piece: Buffer) => void): Promise<void> {
    if (!this.#kept && this.knownRemaining + (this.#unclaimed?.bytes ?? 0) > limitBytes) throw tooLarge(limitBytes)
    await this.readUntil(limitBytes, (piece) => {
      look(piece)
      return false
    })
  }

  /**
   * Stops taking the body where somebody has seen enough of it; what was seen is handed out again to who comes next.
   * Who throws wants nothing of it any more, and ends it.
   */
  async readUntil(limitBytes: number, enough: (piece: Buffer) => boolean): Promise<void> {
    if (this.#kept) {
      const failure = this.showKept(limitBytes, enough)
      if (failure) throw failure
      return
    }
    const seen = new HeldPieces()
    let satisfied = false
    const look = (piece: Buffer): void => {
      seen.add(piece)
      satisfied ||= enough(piece)
      if (seen.bytes > limitBytes && !satisfied) throw tooLarge(limitBytes)
    }
    await new Promise<void>((resolve, reject) => {
      this.consume({
        onPieces: (pieces) => {
          try {
            for (const piece of pieces) look(piece)
          } catch (error) {
            this.#end(asError(error))
            return true
          }
          if (satisfied) {
            this.#putBack(seen)
            resolve()
          }
          return true
        },
        onEnd: () => {
          this.#keep(seen)
          resolve()
        },
        onError: reject,
      })
    })
  }

  #putBack(seen: HeldPieces): void {
    this.release()
    this.#unclaimed = seen
    this.#taken = false
  }

  #hold(pieces: readonly Buffer[]): void {
    if (pieces.length === 0) return
    const held = (this.#unclaimed ??= new HeldPieces())
    for (const piece of pieces) held.add(piece)
    if (held.bytes >= unclaimedLimitBytes && !this.arrived) this.#source.pause()
  }

  #deliverHeld(consumer: BodyConsumer): void {
    const held = this.#unclaimed
    this.#unclaimed = undefined
    if (held) this.#deliver(consumer, held.pieces)
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
    if (!this.arrived || this.#ended || !this.#consumer || this.#unclaimed) return
    this.#ended = true
    const consumer = this.#consumer
    this.#consumer = undefined
    consumer.onEnd(this.#decoder.trailers)
  }
}

function tooLarge(limitBytes: number): SluiceError {
  return new SluiceError('body_too_large', { limitBytes })
}
