import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Cluster, clusterIdOf, clusterKind, isAttached } from '../../resources/cluster.ts'
import { type ObjectRef, refOf, withCondition } from '../../resources/kubernetes-object.ts'
import { isNodeReady } from '../../resources/node.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { newClusterId } from '../data/identity.ts'
import type { ClusterFolder, ClusterFolders } from './cluster-folders.ts'
import { type ClusterFacts, type ClusterVerdict, clusterCondition, clusterVerdict } from './cluster-phase.ts'
import { ClusterFault } from './cluster-fault.ts'
import type { ClusterSecrets } from './cluster-secrets.ts'
import type { RunningCluster } from './running-cluster.ts'
import { RunningClusters } from './running-clusters.ts'

export interface ClusterControllerOptions {
  readonly client: ClusterClient
  readonly clusters: ObjectCache<Cluster>
  /** `undefined` in a Kubernetes, where clusters can only be attached. */
  readonly embedded: EmbeddedClusters | undefined
  readonly secrets: ClusterSecrets
  readonly events: Events
  /** Runs already; the controller only reports its status. */
  readonly home: RunningCluster
  attach(id: string, kubeconfig: string): Promise<RunningCluster>
  /** How often a Cluster is checked without any event, since the kubeconfig of an attached one may have changed. */
  readonly lookAgainMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** What clusters that run on this machine are made of. */
export interface EmbeddedClusters {
  readonly folders: ClusterFolders
  start(record: ClusterFolder, cluster: Cluster): Promise<RunningCluster>
}

/** Keeps the Cluster object of an embedded cluster until everything that belongs to the cluster is taken down. */
export const clusterFinalizer = 'sluice.dev/cluster'

/** Starts, attaches and removes clusters as the Cluster objects ask, and reports their status. */
export class ClusterController implements Component {
  readonly name = 'clusters'
  readonly #options: ClusterControllerOptions
  readonly #clusters = new RunningClusters((name) => this.#queue.add({ name }))
  readonly #queue: WorkQueue
  readonly #stopping = new AbortController()
  readonly #unsubscribe: ReadonlyArray<() => void>
  #run: Promise<void> = Promise.resolve()

  constructor(options: ClusterControllerOptions) {
    this.#options = options
    const { clusters, home, clock, log } = options
    this.#queue = new WorkQueue({
      name: 'clusters',
      clock,
      log,
      concurrency: 4,
      reconcile: (ref, signal) => this.#reconcile(ref, signal),
    })
    this.#unsubscribe = [
      clusters.onChange(({ object }) => this.#queue.add(refOf(object))),
      home.onChange(() => this.#queue.add({ name: home.id })),
    ]
  }

  start(): void {
    for (const cluster of this.#options.clusters.list()) this.#queue.add(refOf(cluster))
    this.#run = this.#queue.run(this.#stopping.signal)
  }

  /** Ends the Pods, and leaves everything so that the next start finds it again. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#stopping.abort(new Error('sluice stops'))
    await this.#run
    await this.#clusters.closeAll()
  }

  /** The running cluster of this name; `undefined` while it does not run. */
  running(name: string): RunningCluster | undefined {
    return name === this.#options.home.id ? this.#options.home : this.#clusters.get(name)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const cluster = this.#options.clusters.get(ref)
    if (!cluster || this.#clusters.isOutdated(cluster)) await this.#clusters.close(ref.name)
    if (!cluster) return {}
    if (ref.name === this.#options.home.id) {
      this.#options.home.update(cluster)
      await this.#tell(cluster, { isDeleting: false, running: factsOf(this.#options.home) }, this.#options.home, signal)
      return {}
    }
    if (cluster.metadata.deletionTimestamp !== undefined) {
      await this.#remove(cluster, signal)
      return {}
    }
    await this.#ensure(cluster, signal)
    return { requeueAfterMs: this.#options.lookAgainMs }
  }

  /**
   * Starts the cluster if it does not run, and reports its status. A failure is reported, and tried again with
   * back-off.
   */
  async #ensure(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { name } = cluster.metadata
    try {
      if (isAttached(cluster)) await this.#ensureAttached(cluster, signal)
      else await this.#ensureEmbedded(cluster, signal)
    } catch (error) {
      if (signal.aborted) throw error
      await this.#clusters.close(name)
      await this.#tell(cluster, { isDeleting: false, fault: faultOf(error) }, undefined, signal)
      throw error
    }
    const running = this.#clusters.get(name)
    if (!running) return
    running.update(cluster)
    await this.#tell(cluster, { isDeleting: false, running: factsOf(running) }, running, signal)
  }

  async #ensureEmbedded(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { embedded, secrets } = this.#options
    const { name } = cluster.metadata
    const { enterprise } = cluster.spec
    if (!embedded) throw new ClusterFault('CannotBeEmbedded', onlyAttached)
    let running = this.#clusters.get(name)
    if (!running) {
      this.#clusters.refuseTooMany()
      const held = await this.#hold(cluster, signal)
      const record = embedded.folders.find(name, enterprise) ?? embedded.folders.make(name, enterprise)
      await this.#tell(held, { isDeleting: false }, { id: record.id }, signal)
      running = await embedded.start(record, held)
      this.#clusters.add(cluster, running)
    }
    await secrets.keep(cluster, running.kubeconfig ?? '', signal)
  }

  /** Its status is all that is kept of an attached cluster, its ID included. */
  async #ensureAttached(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { secrets } = this.#options
    const { name } = cluster.metadata
    const kubeconfig = await secrets.read(cluster, signal)
    if (this.#clusters.isAttachedBy(name, kubeconfig)) return
    await this.#clusters.close(name)
    this.#clusters.refuseTooMany()
    const id = clusterIdOf(cluster) ?? newClusterId()
    await this.#tell(cluster, { isDeleting: false }, { id }, signal)
    this.#clusters.add(cluster, await this.#options.attach(id, kubeconfig), kubeconfig)
  }

  async #remove(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { client, embedded, secrets, log } = this.#options
    const { name, finalizers = [] } = cluster.metadata
    if (!finalizers.includes(clusterFinalizer)) return
    await this.#tell(cluster, { isDeleting: true }, undefined, signal)
    const record = embedded?.folders.find(name, cluster.spec.enterprise)
    if (embedded && record && !isAttached(cluster)) await this.#takeOver(cluster, record, embedded)
    await this.#clusters.close(name)
    // Older versions have a folder for an attached cluster, too.
    if (record && (cluster.spec.deletionPolicy === 'Delete' || isAttached(cluster))) {
      await embedded?.folders.purge(record)
    }
    if (!isAttached(cluster)) await secrets.remove(cluster, signal)
    log.info({ cluster: name, id: record?.id, policy: cluster.spec.deletionPolicy }, 'a cluster was deleted')
    const left = finalizers.filter((finalizer) => finalizer !== clusterFinalizer)
    await client.patch(clusterKind, { name }, { metadata: { finalizers: left } }, signal)
  }

  /** Only its own node can end what a killed run left running, so the cluster is started for that. */
  async #takeOver(cluster: Cluster, record: ClusterFolder, embedded: EmbeddedClusters): Promise<void> {
    const { name } = cluster.metadata
    if (this.#clusters.get(name)) return
    try {
      this.#clusters.add(cluster, await embedded.start(record, cluster))
    } catch (error) {
      this.#options.log.warn({ err: error, cluster: name }, 'a cluster that is deleted could not be looked at')
    }
  }

  /** Adds the finalizer, so that the object stays until the cluster has been taken down. */
  async #hold(cluster: Cluster, signal: AbortSignal): Promise<Cluster> {
    const { name, finalizers = [] } = cluster.metadata
    if (finalizers.includes(clusterFinalizer)) return cluster
    const held = [...finalizers, clusterFinalizer]
    return this.#options.client.patch(clusterKind, { name }, { metadata: { finalizers: held } }, signal)
  }

  async #tell(
    cluster: Cluster,
    facts: ClusterFacts,
    running: Partial<RunningCluster> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, events, secrets } = this.#options
    const verdict = clusterVerdict(facts)
    let changed = false
    const change = (current: Cluster): Cluster => {
      const status = statusWith(current, verdict, running, running?.kubeconfig ? secrets.refOf(current) : undefined)
      changed = current.status?.phase !== verdict.phase || reasonIn(current) !== verdict.reason
      const conditions = withCondition(current.status?.conditions, clusterCondition(verdict), clock.now())
      const told = { ...status, conditions }
      return isDeepStrictEqual(told, current.status) ? current : { ...current, status: told }
    }
    try {
      // An unchanged status is not written again: that would only wake everybody who watches.
      if (change(cluster) === cluster) return
      await client.changeStatus(clusterKind, refOf(cluster), change, signal)
      if (changed) events.record(cluster, eventType(verdict), verdict.reason, `${verdict.phase}: ${verdict.message}`)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
}

const onlyAttached =
  'a Kubernetes runs no further clusters: make it again with spec.kubeconfigSecret, the Secret with the kubeconfig of the cluster to attach'

function statusWith(
  { status }: Cluster,
  { phase }: ClusterVerdict,
  running: Partial<RunningCluster> | undefined,
  kubeconfigSecret: { namespace: string; name: string } | undefined,
): NonNullable<Cluster['status']> {
  return {
    ...status,
    phase,
    ...(running?.id !== undefined && { id: running.id }),
    ...(running?.controlPlane !== undefined && { controlPlane: running.controlPlane }),
    ...(kubeconfigSecret && { kubeconfigSecret }),
  }
}

function factsOf(running: RunningCluster): NonNullable<ClusterFacts['running']> {
  const all = running.nodes.list()
  return { silence: running.silence(), nodes: all.length, readyNodes: all.filter(isNodeReady).length }
}

function faultOf(error: unknown): NonNullable<ClusterFacts['fault']> {
  if (error instanceof ClusterFault) return { reason: error.reason, message: error.message }
  return { reason: 'StartFailed', message: errorMessage(error).slice(0, 1_000) }
}

function reasonIn({ status }: Cluster): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.reason
}

function eventType({ phase }: ClusterVerdict): 'Normal' | 'Warning' {
  return phase === 'Abnormal' ? 'Warning' : 'Normal'
}
