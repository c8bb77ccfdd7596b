/** How much work each model has. The autoscaler decides by it. */
export interface Demand {
  /** `undefined` means no data: the cluster has not been seen yet. */
  sample(model: string): DemandReading | undefined
  /** Models with a request, an endpoint or a waiter. */
  models(): readonly string[]
  /**
   * When the model last had a request, in milliseconds since the epoch: now while one is active or waiting, `undefined`
   * if there was none yet.
   */
  lastActiveAt(model: string): number | undefined
  /** The number of requests at each endpoint of the model, including endpoints that get no new ones. */
  inFlightByEndpoint(model: string): ReadonlyMap<string, number>
  /** Calls back as soon as a model gets its first waiter; returns a function that unsubscribes. */
  onFirstWaiter(callback: (model: string) => void): () => void
}

export interface DemandReading {
  readonly active: number
  readonly waiting: number
}
