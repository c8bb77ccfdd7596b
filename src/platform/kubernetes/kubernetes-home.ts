import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import { abortReason, type Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Cluster, clusterKind, homeLabel } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { withCondition } from '../../resources/kubernetes-object.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { type Node, isNodeReady } from '../../resources/node.ts'
import { backgroundTask } from '../background-task.ts'
import { clusterCondition, clusterVerdict } from '../clusters/cluster-phase.ts'
import { type CenterFacts, createMissing } from '../home-resources.ts'

export interface HomeSettings {
  readonly clusterName: string
  readonly enterprise: string
  readonly center: CenterFacts
}

const idCharacters = 'abcdefghijklmnopqrstuvwxyz0123456789'
const idLength = 9

/**
 * The ID of a Kubernetes as one of Sluice's clusters. It follows from what no other cluster has and nobody can guess,
 * so that it stays the same however often Sluice is installed there.
 */
export function kubernetesClusterId(systemNamespaceUid: string): string {
  const digest = createHash('sha256').update(`sluice cluster ${systemNamespaceUid}`).digest()
  const characters = [...digest.subarray(0, idLength)].map((byte) => idCharacters[byte % idCharacters.length] ?? '')
  return `vks${characters.join('')}`
}

export function homeClusterOf(clusters: ObjectCache<Cluster>): Cluster | undefined {
  return clusters.list().find(({ metadata }) => metadata.labels?.[homeLabel] !== undefined)
}

/** Waits for the controller to have said which cluster this is. */
export function homeClusterIn(clusters: ObjectCache<Cluster>, signal: AbortSignal): Promise<Cluster> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const home = homeClusterOf(clusters)
      if (home) end(() => resolve(home))
    }
    const give = () => end(() => reject(abortReason(signal)))
    const end = (settle: () => void) => {
      unsubscribe()
      signal.removeEventListener('abort', give)
      settle()
    }
    const unsubscribe = clusters.onChange(look)
    signal.addEventListener('abort', give, { once: true })
    look()
  })
}

/** Makes the Cluster and the ComputeCenter of this Kubernetes where they are missing. What is there stays as it is. */
export async function createKubernetesHome(
  client: ClusterClient,
  { clusterName, enterprise, center }: HomeSettings,
  signal: AbortSignal,
): Promise<void> {
  const { code, proxyDomain, registry } = center
  const names = { name: code, nameEn: code, country: '', address: '' }
  await createMissing(client, computeCenterKind, {
    metadata: { name: code },
    spec: { id: '1', code, ...names, proxyDomain, registry },
  })
  const { items } = await client.list(clusterKind, {}, signal)
  if (items.some(({ metadata }) => metadata.labels?.[homeLabel] !== undefined)) return
  const system = await client.get(namespaceKind, { name: 'kube-system' }, signal)
  await createMissing(client, clusterKind, {
    metadata: { name: kubernetesClusterId(system?.metadata.uid ?? ''), labels: { [homeLabel]: 'controller' } },
    spec: { displayName: clusterName, enterprise, center: code },
  })
}

/** Reports in the home Cluster's status how this Kubernetes is. Only one that no `sluice up` looks after. */
export function homeStatusTask(options: {
  readonly client: ClusterClient
  readonly clusters: ObjectCache<Cluster>
  readonly nodes: ObjectCache<Node>
  readonly controlPlane: string
  readonly clock: Clock
  readonly log: Logger
}): Component {
  const { client, clusters, nodes, controlPlane, clock, log } = options
  const queue = new WorkQueue({
    name: 'home-cluster',
    clock,
    log,
    concurrency: 1,
    async reconcile(ref, signal) {
      const home = homeClusterOf(clusters)
      if (home?.metadata.name !== ref.name || home.metadata.labels?.[homeLabel] !== 'controller') return {}
      const all = nodes.list()
      const running = { silence: undefined, nodes: all.length, readyNodes: all.filter(isNodeReady).length }
      const verdict = clusterVerdict({ isDeleting: false, running })
      const conditions = withCondition(home.status?.conditions, clusterCondition(verdict), clock.now())
      const status = { ...home.status, id: ref.name, controlPlane, phase: verdict.phase, conditions }
      if (!isDeepStrictEqual(status, home.status)) {
        await client.changeStatus(clusterKind, ref, (current) => ({ ...current, status }), signal)
      }
      return {}
    },
  })
  return backgroundTask('home cluster', async (signal) => {
    const look = () => {
      const name = homeClusterOf(clusters)?.metadata.name
      if (name !== undefined) queue.add({ name })
    }
    const unsubscribe = [clusters.onChange(look), nodes.onChange(look)]
    look()
    try {
      await queue.run(signal)
    } finally {
      for (const stop of unsubscribe) stop()
    }
  })
}
