import type { OutgoingHttpHeaders } from 'node:http'
import type { RequestOptions } from 'node:https'

export interface RequestToServer extends RequestOptions {
  headers: OutgoingHttpHeaders
}

/** How an API server is reached, and as whom. */
export interface ClusterAccess {
  readonly server: string
  /** Whether requests go through a proxy, with an agent that `apply` sets. */
  readonly proxied: boolean
  /** Adds credentials and certificates to a request, as they are now. */
  apply(options: RequestToServer): Promise<void>
}
