/** The door of traffic: a place at a server of the model, now or as soon as there is one. */
export interface EndpointPool {
  /** A seat at an awake endpoint, when there is one now that nobody else waits for. */
  trySeat(model: string, hint: ReserveHint): Seat | undefined
  /**
   * Resolves with an awake endpoint, at once or after waiting for the model to wake. Rejects with `model_not_found`,
   * `model_unavailable`, `waiting_room_full`, `wake_deadline`, or the signal's reason.
   */
  reserve(model: string, hint: ReserveHint, signal: AbortSignal): Promise<Seat>
}

export interface ReserveHint {
  /**
   * Endpoints that already failed this request: others come first, and one of these only after a probe found it
   * healthy.
   */
  readonly exclude?: ReadonlySet<string> | undefined
  /**
   * The hashed blocks that the prompt begins with (`promptBlocks`): requests that begin alike go to the same endpoint,
   * which has that beginning in memory. Asked for only where there is a choice.
   */
  prefix?(): readonly number[]
}

export interface EndpointAddress {
  readonly host: string
  readonly port: number
}

/** `failed`: nothing new goes to the endpoint until a probe finds it healthy. */
export type SeatOutcome = 'served' | 'failed'

/** One request's place at an endpoint. Whoever has it releases it; a second release does nothing. */
export interface Seat {
  readonly address: EndpointAddress
  /** The Pod's name. */
  readonly endpoint: string
  /** What its engine asks for; undefined where it asks for nothing. */
  readonly key: string | undefined
  /** The first byte of the answer is there; of a request that woke the model, this ends the wake. */
  answered(): void
  release(outcome?: SeatOutcome): void
}
