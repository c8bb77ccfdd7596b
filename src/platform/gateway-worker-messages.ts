import type { MessagePort } from 'node:worker_threads'
import type { MetricsSnapshot } from '../foundation/metrics.ts'
import type { ApiKey } from '../resources/api-key.ts'
import type { Model } from '../resources/model.ts'
import type { LoadTableShape } from '../traffic/load-table.ts'
import type { MirrorNews } from './object-mirror.ts'

/** What a worker is the same as every other one in. */
export interface GatewayWorkerSettings {
  readonly namespace: string
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** A worker's part of what all bodies together may take. */
  readonly heldLimitBytes: number
  readonly chatPageDirectory: string
  /** Without it nothing is logged. */
  readonly logPath: string | undefined
}

/** What a worker begins with. */
export interface GatewayWorkerData {
  readonly settings: GatewayWorkerSettings
  readonly row: number
  readonly loads: LoadTableShape
  /** To the desk of the waiting rooms. */
  readonly poolPort: MessagePort
}

export type ToGatewayWorker =
  | { readonly type: 'models'; readonly news: MirrorNews<Model> }
  | { readonly type: 'keys'; readonly news: MirrorNews<ApiKey> }
  | { readonly type: 'listen'; readonly host: string; readonly port: number }
  /** Asks what it has counted. */
  | { readonly type: 'snapshot'; readonly id: number }
  /** Answers what all have counted. */
  | { readonly type: 'metrics'; readonly id: number; readonly text: string | undefined }
  | { readonly type: 'stop'; readonly graceMs: number }

export type FromGatewayWorker =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'not-listening'; readonly code: string; readonly reason: string }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | { readonly type: 'metrics'; readonly id: number }
