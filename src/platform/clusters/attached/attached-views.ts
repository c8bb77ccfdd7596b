import type { ObjectCache } from '../../../cluster/informer.ts'
import { WorkQueue } from '../../../cluster/work-queue.ts'
import type { Clock } from '../../../foundation/clock.ts'
import type { Component } from '../../../foundation/lifecycle.ts'
import type { Logger } from '../../../foundation/log.ts'
import { type Cluster, clusterIdOf, isAttached } from '../../../resources/cluster.ts'
import { type ObjectRef, refOf } from '../../../resources/kubernetes-object.ts'
import type { ClusterSecrets } from '../cluster-secrets.ts'
import type { RunningCluster } from '../running-cluster.ts'
import { RunningClusters } from '../running-clusters.ts'

export interface AttachedViewsOptions {
  readonly clusters: ObjectCache<Cluster>
  readonly secrets: Pick<ClusterSecrets, 'read'>
  attach(id: string, kubeconfig: string): Promise<RunningCluster>
  /** How often kubeconfigs are read again, since nothing tells when they have changed. */
  readonly lookAgainMs: number
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Watches the attached clusters where somebody else reports their status: in a process that serves the management API
 * of a Kubernetes. Writes nothing anywhere.
 */
export class AttachedViews implements Component {
  readonly name = 'attached clusters'
  readonly #options: AttachedViewsOptions
  readonly #views = new RunningClusters()
  readonly #queue: WorkQueue
  readonly #stopping = new AbortController()
  #unsubscribe = () => {}
  #run: Promise<void> = Promise.resolve()

  constructor(options: AttachedViewsOptions) {
    this.#options = options
    const { clock, log } = options
    this.#queue = new WorkQueue({
      name: 'attached-clusters',
      clock,
      log,
      concurrency: 4,
      reconcile: (ref, signal) => this.#reconcile(ref, signal),
    })
  }

  start(): void {
    const { clusters } = this.#options
    this.#unsubscribe = clusters.onChange(({ object }) => this.#queue.add(refOf(object)))
    for (const cluster of clusters.list()) this.#queue.add(refOf(cluster))
    this.#run = this.#queue.run(this.#stopping.signal)
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#stopping.abort(new Error('sluice stops'))
    await this.#run
    await this.#views.closeAll()
  }

  /** The view of the cluster of this name; `undefined` while there is none. */
  running(name: string): RunningCluster | undefined {
    return this.#views.get(name)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const cluster = this.#options.clusters.get(ref)
    if (!cluster || !isAttached(cluster) || this.#views.isOutdated(cluster)) await this.#views.close(ref.name)
    // One without an ID cannot be asked for yet.
    const id = cluster && clusterIdOf(cluster)
    if (!cluster || !isAttached(cluster) || id === undefined) return {}
    const kubeconfig = await this.#kubeconfigOf(cluster, signal)
    if (!this.#views.isAttachedBy(ref.name, kubeconfig)) {
      await this.#views.close(ref.name)
      this.#views.refuseTooMany()
      this.#views.add(cluster, await this.#options.attach(id, kubeconfig), kubeconfig)
    }
    return { requeueAfterMs: this.#options.lookAgainMs }
  }

  /** Without a kubeconfig that may be used, the cluster is not watched any more either. */
  async #kubeconfigOf(cluster: Cluster, signal: AbortSignal): Promise<string> {
    try {
      return await this.#options.secrets.read(cluster, signal)
    } catch (error) {
      await this.#views.close(cluster.metadata.name)
      throw error
    }
  }
}
