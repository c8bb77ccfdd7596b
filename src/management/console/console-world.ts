import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import type { Cluster } from '../../resources/cluster.ts'
import type { ComputeCenter } from '../../resources/compute-center.ts'
import type { Model } from '../../resources/model.ts'
import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'
import type { ServiceExporter } from '../../resources/service-exporter.ts'
import type { UsageRecord } from '../../resources/usage-record.ts'
import type { ModelFoldersView } from './console-shapes.ts'

/** What the console shows and acts on. The platform fills it; what is left out there, the console does not offer. */
export interface ConsoleWorld {
  /** The folder of the built page. */
  readonly pageDirectory: string
  readonly clusterId: string
  /** The namespace of the Models. */
  readonly namespace: string
  readonly caches: ConsoleCaches
  readonly client: ConsoleClient
  /** Whether the account of this program may change anything; if not, why. */
  readonly readOnly?: string | undefined
  /** What is asked of the models right now, where the gateway is in this process. */
  readonly traffic?: Traffic | undefined
  /** Reads the logs of Pods. */
  readonly logs?: ReadLog | undefined
  /** Checks what would be written, and writes nothing. */
  readonly rehearsal?: Pick<ConsoleClient, 'create' | 'update'> | undefined
  /** Makes the secret of a key for inference. */
  readonly makeBearerKey?: (() => NewBearerKey) | undefined
  /** Fetches models from elsewhere. */
  readonly pulls?: ModelPulls | undefined
  /** Takes models from the machine of whoever asks. */
  readonly uploads?: ModelUploads | undefined
  /** Folders of the claim for user data that hold a model, and where that is on this machine. */
  readonly modelFolders?: (() => Promise<ModelFoldersView>) | undefined
  /** The newest lines of the audit log, newest first. */
  readonly auditTail?: (() => Promise<readonly AuditedLine[]>) | undefined
  /** Told of everything that somebody changes here. */
  readonly audit?: ((change: ConsoleChange) => void) | undefined
}

export interface ConsoleCaches {
  readonly models: ObjectCache<Model>
  readonly pods: ObjectCache<Pod>
  readonly nodes: ObjectCache<Node>
  readonly exporters: ObjectCache<ServiceExporter>
  readonly clusters: ObjectCache<Cluster>
  readonly centers: ObjectCache<ComputeCenter>
  readonly keys: ObjectCache<ApiKey>
  readonly usage: ObjectCache<UsageRecord>
}

export type ConsoleClient = Pick<ClusterClient, 'get' | 'list' | 'create' | 'update' | 'delete' | 'scale'>

export interface Traffic {
  /** `undefined` while nothing is known. */
  sample(model: string): { readonly active: number; readonly waiting: number } | undefined
  lastActiveAt(model: string): number | undefined
  inFlightByEndpoint(model: string): ReadonlyMap<string, number>
}

export type ReadLog = (
  pod: Pod,
  options: { readonly container: string; readonly tailLines: number; readonly follow: boolean },
  signal: AbortSignal,
) => AsyncIterable<Buffer>

export interface NewBearerKey {
  readonly accessKey: string
  readonly secretSha256: string
  /** What a client sends. It is shown once and kept nowhere. */
  readonly text: string
}

export interface ModelPulls {
  /** Throws if the address cannot be one. */
  check(address: string): void
  /** Returns the `spec.url` of what was fetched. */
  fetch(address: string, name: string, ticket: PullTicket): Promise<string>
}

export interface PullTicket {
  readonly signal: AbortSignal
  readonly onProgress: (bytes: number, totalBytes: number) => void
}

export interface ModelUploads {
  /** Makes a place for the files of a model. Throws `model_not_taken` if there can be none. */
  begin(name: string, files: ReadonlyArray<{ readonly name: string; readonly bytes: number }>): Promise<ModelUpload>
}

/** The files of a model as they come. Until it is finished, nobody else sees any of them. */
export interface ModelUpload {
  readonly totalBytes: number
  /** The bytes of each file that are on the disk. */
  received(): ReadonlyMap<string, number>
  isWhole(): boolean
  /** Adds to a file, whose end `at` must be. Throws `model_not_taken` if what comes can never be a model. */
  write(file: string, at: number, bytes: AsyncIterable<unknown>, signal: AbortSignal): Promise<void>
  /** Puts the files where a Model finds them, all or none. Returns its `spec.url`. */
  finish(): Promise<string>
  /** Removes all of it, finished or not. */
  discard(): Promise<void>
}

/** The part of an audit line that the console shows. */
export interface AuditedLine {
  readonly stageTimestamp: string
  readonly verb: string
  readonly user: { readonly username?: string | undefined }
  readonly objectRef?: ChangedThing | undefined
  readonly responseStatus: { readonly code: number }
}

interface ChangedThing {
  readonly resource: string
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** A change that somebody made by the console, for the audit log. */
export interface ConsoleChange {
  /** The name of the ApiKey. */
  readonly key: string
  readonly source: string
  readonly userAgent: string | undefined
  readonly verb: 'create' | 'update' | 'patch' | 'delete'
  readonly object: ChangedObject
  /** The HTTP status of the answer. */
  readonly status: number
  readonly startedAt: number
}

export interface ChangedObject {
  readonly resource: 'models' | 'apikeys'
  readonly subresource?: 'scale' | undefined
  readonly namespace?: string | undefined
  readonly name: string
}
