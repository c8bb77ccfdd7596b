// What the console's API sends, as its page reads it. Imports nothing, since the page is built from it, too.

/** A Model as the console shows it. */
export interface ModelView {
  readonly name: string
  readonly phase: 'Asleep' | 'Waking' | 'Ready' | 'Draining' | 'Failed'
  readonly message: string | undefined
  /** Replicas that are wanted now. */
  readonly wanted: number
  readonly ready: number
  readonly min: number
  readonly max: number
  readonly engine: string
  readonly profile: string
  readonly url: string
  readonly loading: LoadingView | undefined
  readonly lastLoadSeconds: number | undefined
  readonly createdAt: string | undefined
  /** Requests that are being answered, and that wait; `undefined` where this is not known. */
  readonly active: number | undefined
  readonly waiting: number | undefined
  /** To the minute, so that a busy model does not change in every moment. */
  readonly lastActiveAt: number | undefined
}

export interface LoadingView {
  readonly phase: string
  readonly percent?: number | undefined
  readonly progress: string
  readonly since: string
  readonly stalled?: boolean | undefined
}

/** All cards of one kind, and who holds them. */
export interface CardView {
  readonly name: string
  readonly displayName: string
  readonly total: number
  readonly holders: readonly CardHolder[]
}

export interface CardHolder {
  /** The Model; `undefined` for a Pod of something else. */
  readonly model: string | undefined
  readonly pod: string
  readonly cards: number
  /** Whether it is getting ready, answers requests, waits for some, or is no Model's. */
  readonly use: 'starting' | 'active' | 'idle' | 'other'
}

export interface PodView {
  readonly namespace: string
  readonly name: string
  readonly model: string | undefined
  readonly node: string | undefined
  /** One word and a figure, as `kubectl get pods` has them. */
  readonly status: string
  readonly ready: string
  readonly restarts: number
  readonly containers: readonly string[]
  readonly createdAt: string | undefined
  readonly message: string | undefined
}

export interface NodeView {
  readonly name: string
  readonly ready: boolean
  readonly pods: number
  /** In cores. */
  readonly cpu: Share
  /** In bytes. */
  readonly memory: Share
  readonly version: string | undefined
}

export interface Share {
  readonly used: number
  readonly total: number
}

/** How a Pod of a Model got ready: what it did, from when. */
export interface WakeView {
  readonly id: string
  readonly model: string
  readonly pod: string
  readonly steps: readonly WakeStep[]
  /** When it was ready, or given up; `undefined` while it goes on. */
  readonly endedAt: number | undefined
  readonly outcome: 'ready' | 'failed' | 'stopped' | undefined
}

export interface WakeStep {
  /** `Placing`, then `Starting`, then the phases of its load. */
  readonly name: string
  readonly at: number
}

export interface ExposureView {
  readonly namespace: string
  readonly name: string
  readonly service: string
  readonly port: number
  readonly url: string | undefined
  readonly ready: boolean
  readonly message: string | undefined
}

export interface ClusterView {
  readonly name: string
  readonly displayName: string
  readonly id: string | undefined
  readonly enterprise: string
  readonly center: string
  readonly phase: string
  readonly attached: boolean
  readonly controlPlane: string | undefined
}

export interface CenterView {
  readonly code: string
  readonly name: string
  readonly nameEn: string
  readonly country: string
  readonly address: string
  readonly registry: string
  readonly proxyDomain: string
}

/** Nothing of the secret, not even its hash. */
export interface KeyView {
  readonly name: string
  readonly accessKey: string
  readonly use: 'Management' | 'Inference'
  readonly disabled: boolean
  readonly expiresAt: string | undefined
  readonly allowedModels: readonly string[] | undefined
  readonly createdAt: string | undefined
}

export interface EventView {
  readonly at: string
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count: number
}

/** How it was in one moment, or on average over a longer while. What was zero is left out. */
export interface HistorySample {
  readonly at: number
  /** Requests by model: being answered, and waiting. */
  readonly requests: Readonly<Record<string, readonly [active: number, waiting: number]>>
  /** Cards by kind and holder; a Pod of no Model counts for the holder ''. */
  readonly cards: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface HistoryPart {
  readonly everyMs: number
  readonly samples: readonly HistorySample[]
}

export interface HistoryView {
  readonly recent: HistoryPart
  readonly day: HistoryPart
}

/** Who is logged in, and where. */
export interface SessionView {
  readonly key: string
  readonly enterprise: string
  readonly endsAt: number | undefined
  readonly cluster: { readonly id: string; readonly name: string }
  /** Why nothing can be changed here. */
  readonly readOnly: string | undefined
  readonly hasTraffic: boolean
  /** Ways to add a model besides naming files of a claim: from an address, from the machine of whoever looks. */
  readonly mayFetch: boolean
  readonly mayUpload: boolean
}

/** A key that was just made. The secret is shown this one time. */
export interface NewKeyView {
  readonly name: string
  readonly use: 'Management' | 'Inference'
  readonly accessKey: string
  readonly secret: string
}

/** Folders with models that are there already, relative to the folder of the claim. */
export interface ModelFoldersView {
  readonly root: string
  readonly folders: readonly string[]
}

/** How much of each file of a model has arrived. */
export interface UploadView {
  readonly model: string
  readonly received: Readonly<Record<string, number>>
}

/** A model that is being fetched or uploaded, or was. */
export interface PullView {
  readonly name: string
  readonly source: string
  readonly way: 'fetched' | 'uploaded'
  readonly state: 'fetching' | 'done' | 'failed'
  readonly bytes: number
  readonly totalBytes: number
  /** Why it failed. */
  readonly message: string | undefined
}

export interface AuditView {
  readonly at: string
  readonly user: string
  readonly verb: string
  readonly resource: string
  readonly name: string
  readonly status: number
}

/** What models cost and what sleeping saved, in the last 30 days. */
export interface UsageView {
  /** Oldest first, one for each day. */
  readonly days: readonly UsageEntry[]
  /** The most expensive first. */
  readonly models: readonly UsageEntry[]
  readonly total: UsageEntry
}

export interface UsageEntry {
  /** The day or the model. */
  readonly name: string
  /** Card-seconds that were held. */
  readonly heldSeconds: number
  /** Card-seconds that a replica which never sleeps would have held in addition. */
  readonly savedSeconds: number
  readonly requests: number
  readonly tokens: number
}
