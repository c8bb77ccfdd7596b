import type { Cluster } from '../../resources/cluster.ts'
import { ClusterFault } from './cluster-fault.ts'
import type { RunningCluster } from './running-cluster.ts'

/** A limit, since each cluster takes memory as long as this program runs, whoever asked for it. */
const mostClusters = 100

interface Entry {
  readonly uid: string
  readonly running: RunningCluster
  /** For an attached cluster: the kubeconfig it was attached with. */
  readonly kubeconfig: string | undefined
  readonly unsubscribe: () => void
}

/** The clusters that run here or are watched from here, by the names of their Cluster objects. */
export class RunningClusters {
  readonly #entries = new Map<string, Entry>()
  readonly #onChange: (name: string) => void

  /** Calls the listener with the name of a cluster that has changed by itself. */
  constructor(onChange: (name: string) => void = () => {}) {
    this.#onChange = onChange
  }

  get(name: string): RunningCluster | undefined {
    return this.#entries.get(name)?.running
  }

  isAttachedBy(name: string, kubeconfig: string): boolean {
    return this.#entries.get(name)?.kubeconfig === kubeconfig
  }

  /** Whether the cluster runs for an earlier Cluster object of the same name. */
  isOutdated({ metadata }: Cluster): boolean {
    const entry = this.#entries.get(metadata.name)
    return entry !== undefined && entry.uid !== metadata.uid
  }

  /** Clusters that run go on. The status of one too many says why it is not started. */
  refuseTooMany(): void {
    if (this.#entries.size < mostClusters) return
    throw new ClusterFault('TooManyClusters', `${mostClusters} clusters run here already; delete one first`)
  }

  add({ metadata }: Cluster, running: RunningCluster, kubeconfig?: string): void {
    const { name, uid = '' } = metadata
    const unsubscribe = running.onChange(() => this.#onChange(name))
    this.#entries.set(name, { uid, running, kubeconfig, unsubscribe })
  }

  async close(name: string): Promise<void> {
    const entry = this.#entries.get(name)
    if (!entry) return
    this.#entries.delete(name)
    entry.unsubscribe()
    await entry.running.close()
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((name) => this.close(name)))
  }
}
