/** How much is asked of each model: what the autoscaler decides by. */
export interface Demand {
  /** `undefined` means no data: the cluster has not been seen yet. */
  sample(model: string): DemandReading | undefined
  /** Models that have been asked for, have endpoints, or have waiters. */
  models(): readonly string[]
  /** Milliseconds since the epoch; now while a request is active or waiting; `undefined` when there was none yet. */
  lastActiveAt(model: string): number | undefined
  /** How busy each endpoint of the model is, those that get nothing new included. */
  inFlightByEndpoint(model: string): ReadonlyMap<string, number>
  /** Calls back at once when a model gets its first waiter; returns how to stop that. */
  onFirstWaiter(callback: (model: string) => void): () => void
}

export interface DemandReading {
  readonly active: number
  readonly waiting: number
}
