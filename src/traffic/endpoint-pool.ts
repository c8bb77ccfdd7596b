/** The door of this room: gives each request a seat at one of the model's servers, now or once one is awake. */
export interface EndpointPool {
  /** A seat at an awake endpoint, or `undefined` if none is free or others are waiting for it. */
  trySeat(model: string, hint: ReserveHint): Seat | undefined
  /**
   * Resolves with a seat, at once or when the model has woken. Rejects with `model_not_found`, `model_unavailable`,
   * `waiting_room_full`, `wake_deadline`, or the signal's reason.
   */
  reserve(model: string, hint: ReserveHint, signal: AbortSignal): Promise<Seat>
}

export interface ReserveHint {
  /**
   * Endpoints that already failed this request. Others are preferred; one of these is used only after a probe found it
   * healthy.
   */
  readonly exclude?: ReadonlySet<string> | undefined
  /**
   * Hashes of the prompt's first blocks (`promptBlocks`). Requests that begin alike go to the same endpoint, which has
   * that beginning cached. Called only if there is a choice.
   */
  prefix?(): readonly number[]
}

export interface EndpointAddress {
  readonly host: string
  readonly port: number
}

/** `failed`: the endpoint gets no new requests until a probe finds it healthy. */
export type SeatOutcome = 'served' | 'failed'

/** One request's place at an endpoint. Its holder releases it; releasing it again does nothing. */
export interface Seat {
  readonly address: EndpointAddress
  /** The Pod's name. */
  readonly endpoint: string
  /** The API key that its engine expects, if it expects one. */
  readonly key: string | undefined
  /** To be called at the first byte of the answer. If the request woke the model, this ends the wake. */
  answered(): void
  release(outcome?: SeatOutcome): void
}
