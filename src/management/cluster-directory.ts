import type { Cluster } from '../resources/cluster.ts'
import type { Node } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'

/** Every cluster, whoever's it is; who may see it is decided here in management. Filled by platform. */
export interface ClusterDirectory {
  find(clusterId: string): ClusterView | undefined
}

export interface ClusterView {
  readonly cluster: Cluster
  readonly nodes: ObjectList<Node>
  readonly pods: ObjectList<Pod>
  /** Whether its control plane answers; left out where it is this very process. */
  answers?(): boolean
}

/** An `ObjectCache`, as far as it is needed. */
interface ObjectList<T> {
  list(): readonly T[]
  readonly synced: boolean
}
