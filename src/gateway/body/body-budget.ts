import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { BodyPace, type PaceLimits } from '../../relay/client/body-pace.ts'
import { ClientCounts } from '../../relay/client/client-counts.ts'
import { clientNetwork } from '../../relay/client/client-network.ts'
import type { Done, Exchange } from '../../relay/exchange.ts'

const retryAfterSeconds = 2

/** Where there is no room for others, who lags this far behind is ended. */
const latestLagMs = 5_000

export interface BodyLimits {
  /** Of one body. */
  readonly limitBytes: number
  /** Of all that are held at one time. */
  readonly totalBytes: number
  /** Of those, what comes from one address. */
  readonly addressBytes: number
  /** Where all is used up, who sends slower than this makes room. */
  readonly pressedBytesPerSecond: number
}

/**
 * What the bodies of all requests together may take: they are held while their requests wait for a model. What counts
 * is what is here, not what was announced. A body that came whole with its head counts for all of them only; one that
 * comes in pieces also for its client's address, which has a share.
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

  /** Addresses of which something is held that came in pieces. */
  get clients(): number {
    return this.#perClient.clients
  }

  get limitBytes(): number {
    return this.#limits.limitBytes
  }

  /** Of the request of a client with this address. */
  share(address: string): BodyShare {
    return new BodyShare(this, address)
  }

  /** For the share of a request. */
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

  /** Nothing more comes of it here; what came is held on. */
  stopReceiving(incoming: IncomingBody): void {
    this.#incoming.delete(incoming)
  }

  giveBack(incoming: IncomingBody): void {
    this.stopReceiving(incoming)
    this.give(incoming.bytes)
    this.#perClient.add(incoming.client, -incoming.bytes)
    incoming.bytes = 0
  }

  /** Ends those that came slowly and hold much before somebody else is refused. */
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

/** A body that comes in pieces. */
interface IncomingBody {
  readonly exchange: Exchange
  readonly client: string
  readonly pace: BodyPace
  /** Held of it. */
  bytes: number
}

/** One request's part of the budget. It is given back when the request is finished, whatever became of it. */
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
   * Holds all of the body until the request is finished, and goes on with `goOn`; `look` sees it piece by piece. `fail`
   * hears why it could not be read, and what `goOn` throws.
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

  /** The same until it is enough. What was read is held until the request is finished, the rest streams. */
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
