import { asError, SluiceError } from '../../foundation/errors.ts'
import { HeldPieces } from '../bytes/held-pieces.ts'
import { type BodyDecoder, LengthDecoder } from '../http/body-decoder.ts'
import type { HeaderField } from '../http/header-field.ts'

/** Consumes a body as it arrives. Nothing follows `onEnd` or `onError`. */
export interface BodyConsumer {
  /** Returns false to get no more until `resume`. */
  onPieces(pieces: readonly Buffer[]): boolean
  onEnd(trailers: readonly HeaderField[]): void
  onError(error: Error): void
}

/** What a body needs of its connection. */
export interface BodySource {
  pause(): void
  resume(): void
  /** Called when somebody first wants a body that has not fully arrived: the time for `100 Continue`. */
  wanted(): void
}

/** How many bytes nobody asked for are kept; beyond that the socket is paused. */
const unclaimedLimitBytes = 65_536
/** If one read has more pieces than this, they are tiny chunks and are joined. */
const mostPieces = 32

const nothing: readonly Buffer[] = []
const noBytes = Buffer.alloc(0)

/** The body of one request: decoded as it arrives, held within a limit, taken by one consumer at a time. */
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

  /** `declared`: whether the head announced a body, even an empty one. */
  constructor(decoder: BodyDecoder, declared: boolean, source: BodySource) {
    this.#decoder = decoder
    this.#source = source
    this.declared = declared
  }

  /** Whether all of it has arrived; further input belongs to the next request. */
  get arrived(): boolean {
    return this.#decoder.done
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  /** Whether a consumer took bytes that are gone now. */
  get consumed(): boolean {
    return this.#taken && this.#kept === undefined
  }

  /** Whether the whole body is available now. */
  get isHere(): boolean {
    return this.#kept !== undefined || (this.arrived && !this.#taken && !this.#failure)
  }

  /** Known once the whole body has arrived. */
  get trailers(): readonly HeaderField[] {
    return this.#decoder.trailers
  }

  /** The whole body in pieces, if it was kept. */
  get kept(): readonly Buffer[] | undefined {
    return this.#kept
  }

  get keptBytes(): number {
    return this.#keptBytes
  }

  /** How many bytes are surely still to come; 0 if no length was announced. */
  get knownRemaining(): number {
    return this.#decoder instanceof LengthDecoder ? this.#decoder.remaining : 0
  }

  /** Keeps the body if it has arrived and nobody took it, so that small bodies can be sent again. */
  keepIfArrived(): readonly Buffer[] | undefined {
    if (this.#kept || this.#taken || !this.arrived || this.#failure) return this.#kept
    this.#keep(this.#unclaimed)
    this.#unclaimed = undefined
    this.#ended = true
    return this.#kept
  }

  /** The kept body as one buffer. */
  joined(): Buffer {
    const kept = this.#kept ?? nothing
    if (kept.length <= 1) return kept[0] ?? noBytes
    const whole = Buffer.concat(kept, this.#keptBytes)
    this.#kept = [whole]
    return whole
  }

  /** Shows the kept pieces to `enough` until it returns true; returns the error if it throws. */
  showKept(limitBytes: number, enough: (piece: Buffer) => unknown): Error | undefined {
    if (this.#keptBytes > limitBytes) return tooLarge(limitBytes)
    try {
      for (const piece of this.#kept ?? nothing) if (enough(piece) === true) break
      return undefined
    } catch (error) {
      return asError(error)
    }
  }

  /** Takes input from `start` on; returns where the next request's input begins. */
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
   * The common case: the whole body comes at once, before anybody asked for it, so nothing has to be held or joined.
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

  /** The client broke the framing, was too slow, or left. */
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

  /** The consumer can take more. */
  resume(): void {
    if (!this.#blocked) return
    this.#blocked = false
    if (this.#consumer) this.#deliverHeld(this.#consumer)
  }

  /** The consumer is done with it. */
  release(): void {
    this.#consumer = undefined
    this.#blocked = false
  }

  /** Drops the rest of the body as it comes. */
  discard(): void {
    this.#unclaimed = undefined
    this.#blocked = false
    this.#consumer = { onPieces: () => true, onEnd: () => {}, onError: () => {} }
  }

  /** Keeps the whole body; `look` sees it piece by piece. One that is announced as too long is not read at all. */
  async readAll(limitBytes: number, look: (piece: Buffer) => void): Promise<void> {
    if (!this.#kept && this.knownRemaining + (this.#unclaimed?.bytes ?? 0) > limitBytes) throw tooLarge(limitBytes)
    await this.readUntil(limitBytes, (piece) => {
      look(piece)
      return false
    })
  }

  /**
   * Stops reading when `enough` returns true; the next consumer gets what was read again. If it throws, the body is
   * given up.
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
