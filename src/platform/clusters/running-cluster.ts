import type { ObjectCache } from '../../cluster/informer.ts'
import type { Cluster } from '../../resources/cluster.ts'
import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'

/** A started or attached cluster, as the cluster controller and the management API see it. */
export interface RunningCluster {
  readonly id: string
  readonly controlPlane: string
  /** The administrator's kubeconfig; `undefined` for an attached cluster, which has its own. */
  readonly kubeconfig?: string | undefined
  readonly nodes: ObjectCache<Node>
  readonly pods: ObjectCache<Pod>
  /** Why its API does not answer; `undefined` while it does. */
  silence(): string | undefined
  /** Calls the listener when a Node has changed, or when the API begins or stops answering. */
  onChange(listener: () => void): () => void
  /** Tells that its Cluster object has changed. */
  update(cluster: Cluster): void
  /** Ends the Pods and everything else of the cluster that runs here. */
  close(): Promise<void>
}
