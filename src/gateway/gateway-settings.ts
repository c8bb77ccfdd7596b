export interface GatewaySettings {
  /** How much of a body is read to find the model's name; a longer one gets 413. */
  readonly maxBodyBytes: number
  /** How much all held bodies may take together; beyond that slow senders are cut off, then requests get 503. */
  readonly maxHeldBytes: number
  /** The share of that for one address, at least one body of the largest size; beyond it 429. */
  readonly addressShare: number
  /** If all of it is used, slower senders are cut off. */
  readonly pressedBytesPerSecond: number
  /** How many endpoints a request is tried on before it fails. */
  readonly maxAttempts: number
  /** A request that was at endpoints for this long is not tried on another one. */
  readonly retryWithinMs: number
  /** A streamed request that waits longer gets its response head, and then comments, while it waits. */
  readonly feedbackAfterMs: number
  readonly feedbackEveryMs: number
  /** How long running requests may take to finish at a stop. */
  readonly stopGraceMs: number
}

export const defaultGatewaySettings: GatewaySettings = {
  maxBodyBytes: 32 * 1024 * 1024,
  maxHeldBytes: 1024 * 1024 * 1024,
  addressShare: 0.25,
  pressedBytesPerSecond: 32_768,
  maxAttempts: 3,
  retryWithinMs: 600_000,
  feedbackAfterMs: 2_000,
  feedbackEveryMs: 1_000,
  stopGraceMs: 10_000,
}
