import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { type ResourceQuota, resourceQuotaKind } from '../../resources/resource-quota.ts'
import { isStatusError } from '../../resources/status-error.ts'

/** Counts what a namespace uses; the same counts decide what may still come in. */
export interface QuotaCounts {
  /** `undefined` when there is no such quota. */
  usage(namespace: string, quota: string): { readonly hard: object; readonly used: object } | undefined
  onChange(listener: (namespace: string, quota: string) => void): () => void
}

export interface ResourceQuotaStatusOptions {
  readonly client: ClusterClient
  readonly quotas: ObjectCache<ResourceQuota>
  readonly counts: QuotaCounts
  readonly clock: Clock
  readonly log: Logger
}

/** Writes into each ResourceQuota how much of it is used. */
export class ResourceQuotaStatus {
  readonly #options: ResourceQuotaStatusOptions
  readonly #queue: WorkQueue

  constructor(options: ResourceQuotaStatusOptions) {
    this.#options = options
    const { clock, log, quotas } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'resource-quotas', clock, log, concurrency: 2, reconcile })
    quotas.onChange(({ object }) => this.#queue.add(refOf(object)))
  }

  async run(signal: AbortSignal): Promise<void> {
    const forget = this.#options.counts.onChange((namespace, name) => this.#queue.add({ namespace, name }))
    try {
      await this.#queue.run(signal)
    } finally {
      forget()
    }
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, quotas, counts } = this.#options
    const quota = quotas.get(ref)
    const status = counts.usage(ref.namespace ?? '', ref.name)
    if (!quota || !status) return
    const { hard = {}, used = {} } = quota.status ?? {}
    if (isDeepStrictEqual({ hard, used }, { hard: { ...status.hard }, used: { ...status.used } })) return
    const next = { hard: { ...status.hard }, used: { ...status.used } }
    // A new quota of the same name has its own count, which triggers this again.
    const counted = (current: ResourceQuota) =>
      current.metadata.uid === quota.metadata.uid ? { ...current, status: next } : current
    try {
      await client.changeStatus(resourceQuotaKind, ref, counted, signal)
    } catch (error) {
      if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
    }
  }
}
