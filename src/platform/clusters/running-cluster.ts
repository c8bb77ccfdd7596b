import type { ObjectCache } from '../../cluster/informer.ts'
import type { Cluster } from '../../resources/cluster.ts'
import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'

/** A cluster that was started or attached, as those see it who look after all of them. */
export interface RunningCluster {
  readonly id: string
  readonly controlPlane: string
  /** For its administrator; of one that brought its own, nothing. */
  readonly kubeconfig?: string | undefined
  readonly nodes: ObjectCache<Node>
  readonly pods: ObjectCache<Pod>
  /** Why its API does not answer; undefined while it does. */
  silence(): string | undefined
  /** Told when a Node changes, or whether the API answers. */
  onChange(listener: () => void): () => void
  /** Its resource has changed. */
  update(cluster: Cluster): void
  /** Ends its Pods' processes and everything else of it that runs here. */
  close(): Promise<void>
}
