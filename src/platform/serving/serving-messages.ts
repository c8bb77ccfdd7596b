import type { MessagePort } from 'node:worker_threads'
import type { RouteNews } from '../../exposure/routes/route-mirror.ts'
import type { LoopBoardShape } from '../loop-watch/loop-board.ts'
import type { MetricsSnapshot } from '../../foundation/metrics.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import type { Model } from '../../resources/model.ts'
import type { LoadTableShape } from '../../traffic/endpoints/load-table.ts'
import type { MirrorNews } from './mirror-feed.ts'

/** What can be listened for in a serving thread. */
export type ServingFace = 'gateway' | 'exposure'

/** How every thread's gateway is. */
export interface ServedGateway {
  readonly namespace: string
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** A thread's part of what all bodies together may take. */
  readonly heldLimitBytes: number
  readonly chatPageDirectory: string
}

/** How every thread's edge is. */
export interface ServedExposure {
  readonly key: string
  readonly cert: string
}

/** What a thread begins with. */
export interface ServingData {
  readonly row: number
  /** To the desk of the waiting rooms; without a gateway there are none. */
  readonly gateway:
    { readonly settings: ServedGateway; readonly loads: LoadTableShape; readonly poolPort: MessagePort } | undefined
  readonly exposure: ServedExposure | undefined
  /** Without it nothing is logged. */
  readonly logPath: string | undefined
  /** Where the owner's loop shows that it turns; one of the threads looks at it. */
  readonly ownerLoop: LoopBoardShape | undefined
}

export type ToServingThread =
  | { readonly type: 'models'; readonly news: MirrorNews<Model> }
  | { readonly type: 'keys'; readonly news: MirrorNews<ApiKey> }
  | { readonly type: 'routes'; readonly news: RouteNews }
  /** For handshakes from now on; what is open goes on. */
  | { readonly type: 'certificate'; readonly tls: ServedExposure }
  | {
      readonly type: 'listen'
      readonly face: ServingFace
      readonly host: string
      readonly port: number
      readonly reusePort: boolean
      readonly outside?: number | undefined
    }
  /** Asks what it has counted. */
  | { readonly type: 'snapshot'; readonly id: number }
  /** Answers what all have counted. */
  | { readonly type: 'metrics'; readonly id: number; readonly text: string | undefined }
  | { readonly type: 'stop'; readonly graceMs: number }

export type FromServingThread =
  | { readonly type: 'listening'; readonly face: ServingFace; readonly port: number }
  | { readonly type: 'not-listening'; readonly face: ServingFace; readonly code: string; readonly reason: string }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | { readonly type: 'metrics'; readonly id: number }
