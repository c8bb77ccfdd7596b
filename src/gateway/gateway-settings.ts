export interface GatewaySettings {
  /** What is read of a body to find the model's name; beyond it 413. */
  readonly maxBodyBytes: number
  /** What all bodies that are held at one time may take together; beyond it the slow ones are ended, then 503. */
  readonly maxHeldBytes: number
  /** The part of it that bodies from one address may take, though always one of the largest; beyond it 429. */
  readonly addressShare: number
  /** Where all of it is taken, who sends slower than this makes room. */
  readonly pressedBytesPerSecond: number
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
  addressShare: 0.25,
  pressedBytesPerSecond: 32_768,
  maxAttempts: 3,
  retryWithinMs: 600_000,
  feedbackAfterMs: 2_000,
  feedbackEveryMs: 1_000,
  stopGraceMs: 10_000,
}
