import type { Cluster } from '../resources/cluster.ts'
import type { Node } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'
import { type ClusterDetail, clusterDetail } from './cluster-detail.ts'

interface Remembered {
  readonly cluster: Cluster
  readonly nodes: readonly Node[]
  readonly answers: boolean
  readonly detail: ClusterDetail
}

/**
 * What was said of clusters. Objects and lists of caches are never changed in place: as long as they are the same, so
 * is the answer, and adding up all Pods for every question would be most of the work.
 */
export class RememberedDetails {
  /** By the list of its Pods: with it goes what was made of it. */
  readonly #said = new WeakMap<readonly Pod[], Remembered>()

  of(cluster: Cluster, nodes: readonly Node[], pods: readonly Pod[], answers: boolean): ClusterDetail {
    const said = this.#said.get(pods)
    if (said?.cluster === cluster && said.nodes === nodes && said.answers === answers) return said.detail
    const detail = clusterDetail(cluster, nodes, pods, answers)
    this.#said.set(pods, { cluster, nodes, answers, detail })
    return detail
  }
}
