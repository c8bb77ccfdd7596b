export interface TrafficSettings {
  /** How many requests may wait for one model; more are refused. */
  readonly waitingRoomSize: number
  /** How long a request waits for its model to wake. */
  readonly wakeDeadlineMs: number
  /** The `Retry-After` of a refused client. */
  readonly retryAfterSeconds: number
  readonly probeTimeoutMs: number
}

export const defaultTrafficSettings: TrafficSettings = {
  waitingRoomSize: 1_000,
  wakeDeadlineMs: 600_000,
  retryAfterSeconds: 5,
  probeTimeoutMs: 2_000,
}
