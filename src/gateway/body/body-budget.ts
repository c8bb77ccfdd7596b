import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { BodyPace, type PaceLimits } from '../../relay/client/body-pace.ts'
import { ClientCounts } from '../../relay/client/client-counts.ts'
import { clientNetwork } from '../../relay/client/client-network.ts'
import type { Done, Exchange } from '../../relay/exchange.ts'

const retryAfterSeconds = 2

/** If memory is short, a sender this far behind its rate is cut off. */
const latestLagMs = 5_000

export interface BodyLimits {
  /** The limit for one body. */
  readonly limitBytes: number
  /** The limit for all bodies held at the same time. */
  readonly totalBytes: number
  /** The part of it that one address may have. */
  readonly addressBytes: number
  /** If the budget is used up, slower senders are cut off. */
  readonly pressedBytesPerSecond: number
}

/**
 * Limits the memory for request bodies, which are held while their requests wait for a model. It counts bytes that
 * arrived, not announced lengths. A body that came whole with its head counts only towards the total; one that comes in
 * pieces also counts towards its client address's share.
 */
export class BodyBudget {
  readonly #limits: BodyLimits
  readonly #clock: Clock
  readonly #pace: PaceLimits
  readonly #incoming = new Set<IncomingBody>()
  readonly #perClient = new ClientCounts()
  #heldBytes = 0

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    const { pressedBytesPerSecond: minBodyBytesPerSecond } = limits
    this.#pace = { bodyGraceMs: 0, minBodyBytesPerSecond, bodyTotalMs: Number.POSITIVE_INFINITY }
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** What is held of bodies in pieces, by address. */
  get clients(): number {
    return this.#perClient.clients
  }

  get limitBytes(): number {
    return this.#limits.limitBytes
  }

  /** The share of one request, for a client with this address. */
  share(address: string): BodyShare {
    return new BodyShare(this, address)
  }

  /** Called by a request's share. */
  take(bytes: number): void {
    if (this.#heldBytes + bytes > this.#limits.totalBytes) this.#makeRoom(bytes)
    this.#heldBytes += bytes
  }

  give(bytes: number): void {
    this.#heldBytes -= bytes
  }

  begin(exchange: Exchange, address: string): IncomingBody {
    const pace = new BodyPace(this.#pace, this.#clock.now())
    const incoming = { exchange, client: clientNetwork(address), pace, bytes: 0 }
    this.#incoming.add(incoming)
    return incoming
  }

  receive(incoming: IncomingBody, bytes: number): void {
    const { addressBytes } = this.#limits
    if (this.#perClient.get(incoming.client) + bytes > addressBytes) {
      throw new SluiceError('address_overloaded', { limitBytes: addressBytes, retryAfterSeconds })
    }
    incoming.pace.progress(bytes, this.#clock.now())
    this.take(bytes)
    this.#perClient.add(incoming.client, bytes)
    incoming.bytes += bytes
  }

  /** The body is complete or given up; its bytes stay counted until they are released. */
  stopReceiving(incoming: IncomingBody): void {
    this.#incoming.delete(incoming)
  }

  giveBack(incoming: IncomingBody): void {
    this.stopReceiving(incoming)
    this.give(incoming.bytes)
    this.#perClient.add(incoming.client, -incoming.bytes)
    incoming.bytes = 0
  }

  /** Cuts off slow senders that hold much before a new request is refused. */
  #makeRoom(bytes: number): void {
    while (this.#heldBytes + bytes > this.#limits.totalBytes) {
      const slowest = this.#slowest()
      if (!slowest) throw new SluiceError('gateway_overloaded', { retryAfterSeconds })
      this.giveBack(slowest)
      const { pressedBytesPerSecond } = this.#limits
      const reason = `the gateway holds as many as it can, and this one came slower than ${pressedBytesPerSecond} bytes/s`
      slowest.exchange.refuseBody(new SluiceError('body_too_slow', { reason }))
    }
  }

  #slowest(): IncomingBody | undefined {
    const now = this.#clock.now()
    let slowest: IncomingBody | undefined
    let mostKept = 0
    for (const incoming of this.#incoming) {
      const lagMs = incoming.pace.lagMs(now)
      const kept = lagMs < latestLagMs ? 0 : lagMs * incoming.bytes
      if (kept <= mostKept) continue
      mostKept = kept
      slowest = incoming
    }
    return slowest
  }
}

/** A body that arrives in pieces. */
interface IncomingBody {
  readonly exchange: Exchange
  readonly client: string
  readonly pace: BodyPace
  /** The bytes held of it. */
  bytes: number
}

/** One request's part of the budget, released when the request is finished. */
export class BodyShare {
  readonly #budget: BodyBudget
  readonly #address: string
  #arrivedBytes = 0
  #incoming: IncomingBody | undefined

  constructor(budget: BodyBudget, address: string) {
    this.#budget = budget
    this.#address = address
  }

  /**
   * Reads and holds the whole body, then calls `goOn`; `look` sees it piece by piece. `fail` gets the reason if it
   * cannot be read, and errors that `goOn` throws.
   */
  readWhole(exchange: Exchange, look: (piece: Buffer) => void, goOn: () => void, fail: (error: unknown) => void): void {
    if (!exchange.bodyArrived) {
      const receive = this.#receiver(exchange)
      return exchange.readBody(this.#budget.limitBytes, both(receive, look), this.#end(goOn, fail))
    }
    const hold = (piece: Buffer) => {
      this.#budget.take(piece.length)
      this.#arrivedBytes += piece.length
      look(piece)
    }
    exchange.readBody(this.#budget.limitBytes, hold, this.#end(goOn, fail))
  }

  /** Reads until `enough` returns true. What was read is held until the request is finished; the rest streams. */
  readUntil(
    exchange: Exchange,
    enough: (piece: Buffer) => boolean,
    goOn: () => void,
    fail: (error: unknown) => void,
  ): void {
    const receive = this.#receiver(exchange)
    exchange.readBodyUntil(this.#budget.limitBytes, both(receive, enough), this.#end(goOn, fail))
  }

  #receiver(exchange: Exchange): (piece: Buffer) => void {
    const incoming = this.#budget.begin(exchange, this.#address)
    this.#incoming = incoming
    return (piece) => this.#budget.receive(incoming, piece.length)
  }

  #end(goOn: () => void, fail: (error: unknown) => void): Done {
    return (failure) => {
      if (this.#incoming) this.#budget.stopReceiving(this.#incoming)
      if (failure !== undefined) return fail(failure)
      try {
        goOn()
      } catch (error) {
        fail(error)
      }
    }
  }

  release(): void {
    this.#budget.give(this.#arrivedBytes)
    this.#arrivedBytes = 0
    if (this.#incoming) this.#budget.giveBack(this.#incoming)
    this.#incoming = undefined
  }
}

function both<R>(first: (piece: Buffer) => void, then: (piece: Buffer) => R): (piece: Buffer) => R {
  return (piece) => {
    first(piece)
    return then(piece)
  }
}
