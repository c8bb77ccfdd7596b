import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Cluster, clusterKind, isAttached } from '../../resources/cluster.ts'
import { type ObjectRef, refOf, withCondition } from '../../resources/kubernetes-object.ts'
import { isNodeReady } from '../../resources/node.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { ClusterFolder, ClusterFolders } from './cluster-folders.ts'
import { type ClusterFacts, type ClusterVerdict, clusterCondition, clusterVerdict } from './cluster-phase.ts'
import { ClusterFault } from './cluster-fault.ts'
import type { ClusterSecrets } from './cluster-secrets.ts'
import type { RunningCluster } from './running-cluster.ts'

export interface ClusterControllerOptions {
  readonly client: ClusterClient
  readonly clusters: ObjectCache<Cluster>
  readonly folders: ClusterFolders
  readonly secrets: ClusterSecrets
  readonly events: Events
  /** Runs already; the controller only reports its status. */
  readonly home: RunningCluster
  startEmbedded(record: ClusterFolder, cluster: Cluster): Promise<RunningCluster>
  attach(id: string, kubeconfig: string): Promise<RunningCluster>
  readonly clock: Clock
  readonly log: Logger
}

/** Keeps a Cluster object until everything that belongs to the cluster has been taken down. */
export const clusterFinalizer = 'sluice.dev/cluster'

/** How often a Cluster is checked without any event, since the kubeconfig of an attached one may have changed. */
const lookAgainMs = 5_000
/** A limit, since each cluster takes memory as long as this program runs, whoever asked for it. */
const mostClusters = 100

interface Entry {
  readonly uid: string
  readonly running: RunningCluster
  /** For an attached cluster: the kubeconfig it was attached with. */
  readonly kubeconfig?: string | undefined
  readonly unsubscribe: () => void
}

/** Starts, attaches and removes clusters as the Cluster objects ask, and reports their status. */
export class ClusterController implements Component {
  readonly name = 'clusters'
  readonly #options: ClusterControllerOptions
  readonly #entries = new Map<string, Entry>()
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
    await Promise.all([...this.#entries.keys()].map((name) => this.#close(name)))
  }

  /** The running cluster of this name; `undefined` while it does not run. */
  running(name: string): RunningCluster | undefined {
    return name === this.#options.home.id ? this.#options.home : this.#entries.get(name)?.running
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const cluster = this.#options.clusters.get(ref)
    const entry = this.#entries.get(ref.name)
    if (!cluster || (entry && entry.uid !== cluster.metadata.uid)) await this.#close(ref.name)
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
    return { requeueAfterMs: lookAgainMs }
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
      await this.#close(name)
      await this.#tell(cluster, { isDeleting: false, fault: faultOf(error) }, undefined, signal)
      throw error
    }
    const running = this.#entries.get(name)?.running
    if (!running) return
    running.update(cluster)
    await this.#tell(cluster, { isDeleting: false, running: factsOf(running) }, running, signal)
  }

  async #ensureEmbedded(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { folders, secrets } = this.#options
    const { name, uid = '' } = cluster.metadata
    const { enterprise } = cluster.spec
    let running = this.#entries.get(name)?.running
    if (!running) {
      this.#refuseTooMany()
      const held = await this.#hold(cluster, signal)
      const record = folders.find(name, enterprise) ?? folders.make(name, enterprise)
      await this.#tell(held, { isDeleting: false }, { id: record.id }, signal)
      running = await this.#options.startEmbedded(record, held)
      this.#add(name, uid, running)
    }
    await secrets.keep(cluster, running.kubeconfig ?? '', signal)
  }

  async #ensureAttached(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { folders, secrets } = this.#options
    const { name, uid = '' } = cluster.metadata
    const kubeconfig = await secrets.read(cluster, signal)
    const entry = this.#entries.get(name)
    if (entry?.kubeconfig === kubeconfig) return
    await this.#close(name)
    this.#refuseTooMany()
    const held = await this.#hold(cluster, signal)
    const { enterprise } = cluster.spec
    const { id } = folders.find(name, enterprise) ?? folders.make(name, enterprise)
    await this.#tell(held, { isDeleting: false }, { id }, signal)
    this.#add(name, uid, await this.#options.attach(id, kubeconfig), kubeconfig)
  }

  /** Clusters that run go on. The status of one too many says why it is not started. */
  #refuseTooMany(): void {
    if (this.#entries.size < mostClusters) return
    throw new ClusterFault('TooManyClusters', `${mostClusters} clusters run here already; delete one first`)
  }

  #add(name: string, uid: string, running: RunningCluster, kubeconfig?: string): void {
    const unsubscribe = running.onChange(() => this.#queue.add({ name }))
    this.#entries.set(name, { uid, running, kubeconfig, unsubscribe })
  }

  async #close(name: string): Promise<void> {
    const entry = this.#entries.get(name)
    if (!entry) return
    this.#entries.delete(name)
    entry.unsubscribe()
    await entry.running.close()
  }

  async #remove(cluster: Cluster, signal: AbortSignal): Promise<void> {
    const { client, folders, secrets, log } = this.#options
    const { name, finalizers = [] } = cluster.metadata
    if (!finalizers.includes(clusterFinalizer)) return
    await this.#tell(cluster, { isDeleting: true }, undefined, signal)
    const record = folders.find(name, cluster.spec.enterprise)
    if (record && !isAttached(cluster)) await this.#takeOver(cluster, record)
    await this.#close(name)
    if (record && (cluster.spec.deletionPolicy === 'Delete' || isAttached(cluster))) await folders.purge(record)
    if (!isAttached(cluster)) await secrets.remove(cluster, signal)
    log.info({ cluster: name, id: record?.id, policy: cluster.spec.deletionPolicy }, 'a cluster was deleted')
    const left = finalizers.filter((finalizer) => finalizer !== clusterFinalizer)
    await client.patch(clusterKind, { name }, { metadata: { finalizers: left } }, signal)
  }

  /** Only its own node can end what a killed run left running, so the cluster is started for that. */
  async #takeOver(cluster: Cluster, record: ClusterFolder): Promise<void> {
    const { name, uid = '' } = cluster.metadata
    if (this.#entries.has(name)) return
    try {
      this.#add(name, uid, await this.#options.startEmbedded(record, cluster))
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
