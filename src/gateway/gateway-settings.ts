export interface GatewaySettings {
  /** What is read of a body to find the model's name; beyond it 413. */
  readonly maxBodyBytes: number
  /** What all bodies that are held at one time may take together; beyond it 503. */
  readonly maxHeldBytes: number
  /** How many endpoints a request is tried on before its client is told. */
  readonly maxAttempts: number
  /** A request that has been at endpoints this long is not sent to another one. */
  readonly retryWithinMs: number
  /** A streamed request that waits longer gets its response head and a comment now and then. */
  readonly feedbackAfterMs: number
  readonly feedbackEveryMs: number
  /** What running requests get at a stop. */
  readonly stopGraceMs: number
}

export const defaultGatewaySettings: GatewaySettings = {
  maxBodyBytes: 32 * 1024 * 1024,
  maxHeldBytes: 1024 * 1024 * 1024,
  maxAttempts: 3,
  retryWithinMs: 600_000,
  feedbackAfterMs: 2_000,
  feedbackEveryMs: 1_000,
  stopGraceMs: 10_000,
}
