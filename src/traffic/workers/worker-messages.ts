import type { ErrorCode, ErrorDetails } from '../../foundation/errors.ts'
import type { LoadPlace } from '../endpoints/load-table.ts'
import type { OfferedEndpoint } from '../endpoints/offered-endpoint.ts'

/** What a worker tells the owner of the waiting rooms. */
export type WorkerMessage =
  /** There is nothing to be picked: answered with `seat` or `refused`, unless the worker says that it left first. */
  | {
      readonly type: 'wait'
      readonly id: number
      readonly model: string
      readonly exclude: readonly string[]
      readonly blocks: readonly number[]
    }
  | { readonly type: 'leave'; readonly id: number }
  /** A request has left an endpoint that somebody waits for, or that is on its way out. */
  | { readonly type: 'freed'; readonly model: string }
  | { readonly type: 'failed'; readonly model: string; readonly place: LoadPlace }
  /** The first byte of an answer to somebody who waited. */
  | { readonly type: 'answered'; readonly model: string }

export type OwnerMessage =
  /** All that may be picked of the model now. */
  | { readonly type: 'endpoints'; readonly model: string; readonly endpoints: readonly OfferedEndpoint[] }
  /** Counted for the worker already: it releases it, wanted or not. */
  | { readonly type: 'seat'; readonly id: number; readonly model: string; readonly endpoint: OfferedEndpoint }
  | { readonly type: 'refused'; readonly id: number; readonly code: ErrorCode; readonly details: ErrorDetails }
