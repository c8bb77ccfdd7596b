import type { Pod } from '../resources/pod.ts'

export interface LogOptions {
  readonly container?: string | undefined
  readonly follow: boolean
  readonly tailLines?: number | undefined
  readonly sinceSeconds?: number | undefined
  readonly limitBytes?: number | undefined
  readonly timestamps: boolean
  readonly previous: boolean
}

/** How the API server reaches what runs inside a Pod. The node room fills it; the platform hands it over. */
export interface PodAccess {
  /** Ends when the log does, or when the signal is aborted. A refusal is a `StatusError`. */
  logs(pod: Pod, options: LogOptions, signal: AbortSignal): AsyncIterable<Buffer>
}
