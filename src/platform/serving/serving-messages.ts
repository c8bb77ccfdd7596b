import type { MessagePort } from 'node:worker_threads'
import type { RouteNews } from '../../exposure/routes/route-mirror.ts'
import type { LoopBoardShape } from '../loop-watch/loop-board.ts'
import type { MetricsSnapshot } from '../../foundation/metrics.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import type { Model } from '../../resources/model.ts'
import type { ServedUsage } from '../../resources/usage-record.ts'
import type { LoadTableShape } from '../../traffic/endpoints/load-table.ts'
import type { MirrorNews } from './mirror-feed.ts'

/** What a serving thread can listen for. */
export type ServingFace = 'gateway' | 'exposure'

/** The gateway's settings, the same in every thread. */
export interface ServedGateway {
  readonly namespace: string
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** One thread's share of the memory that all request bodies together may take. */
  readonly heldLimitBytes: number
  readonly chatPageDirectory: string
}

/** The certificate of the edge, the same in every thread. */
export interface ServedExposure {
  readonly key: string
  readonly cert: string
}

/** What a thread is started with. */
export interface ServingData {
  readonly row: number
  /** `poolPort` leads to the waiting queues in the main thread. Without a gateway there are none. */
  readonly gateway:
    | { readonly settings: ServedGateway; readonly loads: LoadTableShape; readonly poolPort: MessagePort }
    | undefined
  readonly exposure: ServedExposure | undefined
  /** If `undefined`, nothing is logged. */
  readonly logPath: string | undefined
  /** Where the main thread shows that its event loop still turns. Only one serving thread watches it. */
  readonly ownerLoop: LoopBoardShape | undefined
}

export type ToServingThread =
  | { readonly type: 'models'; readonly news: MirrorNews<Model> }
  | { readonly type: 'keys'; readonly news: MirrorNews<ApiKey> }
  | { readonly type: 'routes'; readonly news: RouteNews }
  /** Why no sleeping model is woken at the moment. */
  | { readonly type: 'wake-obstacle'; readonly reason: string | undefined }
  /** For new handshakes; connections that are open stay as they are. */
  | { readonly type: 'certificate'; readonly tls: ServedExposure }
  | {
      readonly type: 'listen'
      readonly face: ServingFace
      readonly host: string
      readonly port: number
      readonly reusePort: boolean
      readonly outside?: number | undefined
    }
  /** Asks the thread for its own metrics. */
  | { readonly type: 'snapshot'; readonly id: number }
  /** Answers with the metrics of the whole program. */
  | { readonly type: 'metrics'; readonly id: number; readonly text: string | undefined }
  /** Everything that existed when this was asked has been told. */
  | { readonly type: 'caught-up'; readonly id: number }
  | { readonly type: 'stop'; readonly graceMs: number }

export type FromServingThread =
  /** What models answered since the thread last told it. */
  | { readonly type: 'usage'; readonly served: readonly ServedUsage[] }
  | { readonly type: 'listening'; readonly face: ServingFace; readonly port: number }
  | { readonly type: 'not-listening'; readonly face: ServingFace; readonly code: string; readonly reason: string }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | { readonly type: 'metrics'; readonly id: number }
  /** Asks to be told of every Model that exists by now. Answered with `caught-up`. */
  | { readonly type: 'catch-up'; readonly id: number }
