import type { ErrorCode, ErrorDetails } from '../../foundation/errors.ts'
import type { LoadPlace } from '../endpoints/load-table.ts'
import type { OfferedEndpoint } from '../endpoints/offered-endpoint.ts'

/** Messages from a serving thread to the main thread. */
export type WorkerMessage =
  /** No endpoint is free. Answered with `seat` or `refused`, unless the request leaves first. */
  | {
      readonly type: 'wait'
      readonly id: number
      readonly model: string
      readonly exclude: readonly string[]
      readonly blocks: readonly number[]
    }
  | { readonly type: 'leave'; readonly id: number }
  /** A request left an endpoint that others wait for, or that is closing. */
  | { readonly type: 'freed'; readonly model: string }
  | { readonly type: 'failed'; readonly model: string; readonly place: LoadPlace }
  /** The first byte of the answer to a request that had waited. */
  | { readonly type: 'answered'; readonly model: string }

export type OwnerMessage =
  /** All usable endpoints of the model. */
  | { readonly type: 'endpoints'; readonly model: string; readonly endpoints: readonly OfferedEndpoint[] }
  /** The seat is already counted for the thread, which has to release it even if nobody wants it any more. */
  | { readonly type: 'seat'; readonly id: number; readonly model: string; readonly endpoint: OfferedEndpoint }
  | { readonly type: 'refused'; readonly id: number; readonly code: ErrorCode; readonly details: ErrorDetails }
