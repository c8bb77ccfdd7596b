import { SluiceError } from '../foundation/errors.ts'
import type { Exchange } from '../relay/exchange.ts'

const retryAfterSeconds = 2

/**
 * What the bodies of all requests together may take: they are held while their requests wait for a model. A body is
 * counted before it is read, by its announced length or else by the limit, and then by its true length.
 */
export class BodyBudget {
  readonly #limitBytes: number
  readonly #totalBytes: number
  #heldBytes = 0

  constructor(options: { readonly limitBytes: number; readonly totalBytes: number }) {
    this.#limitBytes = options.limitBytes
    this.#totalBytes = options.totalBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  share(): BodyShare {
    return new BodyShare(this.#limitBytes, this)
  }

  /** By a request's share. */
  change(bytes: number): void {
    if (bytes > 0 && this.#heldBytes + bytes > this.#totalBytes) {
      throw new SluiceError('gateway_overloaded', { retryAfterSeconds })
    }
    this.#heldBytes += bytes
  }
}

/** One request's part of the budget. It is given back when the request is finished, whatever became of it. */
export class BodyShare {
  readonly #limitBytes: number
  readonly #budget: BodyBudget
  #bytes = 0

  constructor(limitBytes: number, budget: BodyBudget) {
    this.#limitBytes = limitBytes
    this.#budget = budget
  }

  /** The body when all of it is here. */
  arrived(exchange: Exchange): Buffer | undefined {
    const body = exchange.arrivedBody(this.#limitBytes)
    if (body) this.#take(body.length)
    return body
  }

  async read(exchange: Exchange): Promise<Buffer> {
    const arrived = this.arrived(exchange)
    if (arrived) return arrived
    const { headers } = exchange.head
    const announced =
      headers.get('transfer-encoding') === undefined ? Number(headers.get('content-length') ?? 0) : undefined
    // What is announced as too long is refused by the reading itself, without being held.
    this.#take(Math.min(announced ?? this.#limitBytes, this.#limitBytes))
    const body = await exchange.readBody(this.#limitBytes)
    this.#take(body.length)
    return body
  }

  /** Counts what is shown as held: it stays until the request is finished, or is on its way to the model's server. */
  async readUntil(exchange: Exchange, enough: (piece: Buffer) => boolean): Promise<void> {
    await exchange.readBodyUntil(this.#limitBytes, (piece) => {
      this.#take(this.#bytes + piece.length)
      return enough(piece)
    })
  }

  release(): void {
    this.#take(0)
  }

  #take(bytes: number): void {
    this.#budget.change(bytes - this.#bytes)
    this.#bytes = bytes
  }
}
