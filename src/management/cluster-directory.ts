import type { Cluster } from '../resources/cluster.ts'
import type { Node } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'
import type { UsageRecord } from '../resources/usage-record.ts'

/** All clusters, of all enterprises. Platform fills it; management decides who may see which. */
export interface ClusterDirectory {
  find(clusterId: string): ClusterView | undefined
}

export interface ClusterView {
  readonly cluster: Cluster
  readonly nodes: ObjectList<Node>
  readonly pods: ObjectList<Pod>
  /** What its models were used for. Left out if it has none. */
  readonly usage?: ObjectList<UsageRecord> | undefined
  /** Whether its control plane answers. Left out if that is this very process. */
  answers?(): boolean
}

/** The part of an `ObjectCache` that is needed here. */
interface ObjectList<T> {
  list(): readonly T[]
  readonly synced: boolean
}
