/** How much a model is asked for, by the Model's name. Implemented by traffic, passed on by the platform. */
export interface Demand {
  /** `undefined`: nobody knows right now, which is not the same as no demand. */
  sample(model: string): DemandReading | undefined
  /** When a request was last active or waiting: requests also come and go between two samples. */
  lastActiveAt(model: string): number | undefined
  /** Calls back when a model without an awake Pod gets its first waiter. Returns how to stop listening. */
  onFirstWaiter(callback: (model: string) => void): () => void
}

export interface DemandReading {
  /** Requests being served. */
  readonly active: number
  /** Requests waiting for a Pod. */
  readonly waiting: number
  /** There may be more that nobody knows of: no reason to take a replica away. */
  readonly isPartial?: boolean
}

export interface DemandSample extends DemandReading {
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}
