import { clusterKind } from '../../resources/cluster.ts'
import type { HomeCluster } from '../home-cluster.ts'
import type { RunningCluster } from './running-cluster.ts'

/** Shows the home cluster like any other one. It runs as long as this program does. */
export function homeAsCluster({ cluster, caches, id }: HomeCluster): RunningCluster {
  let quota = JSON.stringify(caches.clusters.get({ name: id })?.spec.quota)
  return {
    id,
    get controlPlane() {
      return cluster.address
    },
    nodes: caches.nodes,
    pods: caches.pods,
    silence: () => cluster.controlPlane.failure?.message,
    onChange: (listener) => caches.nodes.onChange(listener),
    update({ spec }) {
      const now = JSON.stringify(spec.quota)
      if (now !== quota) cluster.shareChanged()
      quota = now
    },
    close: () => Promise.reject(new Error(`the home cluster is not closed as one of its ${clusterKind.plural}`)),
  }
}
