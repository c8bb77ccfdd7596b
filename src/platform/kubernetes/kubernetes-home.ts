import { createHash } from 'node:crypto'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder } from '../../cluster/event-recorder.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { connectKubernetesText } from '../../cluster/kubernetes-client.ts'
import { abortReason, type Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Cluster, clusterKind, homeLabel } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'
import { watchAttachedCluster } from '../clusters/attached/attached-cluster.ts'
import { ClusterController } from '../clusters/cluster-controller.ts'
import { ClusterSecrets } from '../clusters/cluster-secrets.ts'
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
  return clusters.list().find(isHome)
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

/**
 * Makes the Cluster and the ComputeCenter of this Kubernetes where they are missing. What is there stays as it is.
 * Resolves with the Cluster.
 */
export async function createKubernetesHome(
  client: ClusterClient,
  { clusterName, enterprise, center }: HomeSettings,
  signal: AbortSignal,
): Promise<Cluster> {
  const { code, proxyDomain, registry } = center
  const names = { name: code, nameEn: code, country: '', address: '' }
  await createMissing(client, computeCenterKind, {
    metadata: { name: code },
    spec: { id: '1', code, ...names, proxyDomain, registry },
  })
  const { items } = await client.list(clusterKind, {}, signal)
  const there = items.find(isHome)
  if (there) return there
  const system = await client.get(namespaceKind, { name: 'kube-system' }, signal)
  const name = kubernetesClusterId(system?.metadata.uid ?? '')
  const home = {
    metadata: { name, labels: { [homeLabel]: 'controller' } },
    spec: { displayName: clusterName, enterprise, center: code, deletionPolicy: 'Retain' as const },
  }
  await createMissing(client, clusterKind, home)
  return { apiVersion: 'sluice.dev/v1', kind: 'Cluster', ...home }
}

/**
 * Reports the status of this Kubernetes and of the clusters that are attached to it. `undefined` where a `sluice up`
 * does that, since it runs the cluster.
 */
export function kubernetesClusters(options: {
  readonly home: Cluster
  readonly client: ClusterClient
  readonly clusters: ObjectCache<Cluster>
  readonly nodes: ObjectCache<Node>
  readonly pods: ObjectCache<Pod>
  readonly controlPlane: string
  readonly clock: Clock
  readonly log: Logger
}): ClusterController | undefined {
  const { home, client, clusters, nodes, pods, controlPlane, clock, log } = options
  if (home.metadata.labels?.[homeLabel] !== 'controller') return undefined
  return new ClusterController({
    client,
    clusters,
    embedded: undefined,
    secrets: new ClusterSecrets(client),
    events: new EventRecorder({ client, component: 'sluice-clusters', clock, log }),
    home: {
      id: home.metadata.name,
      controlPlane,
      nodes,
      pods,
      // What is written here is read by nobody while this API does not answer.
      silence: () => undefined,
      onChange: (listener) => nodes.onChange(listener),
      update() {},
      close: () => Promise.resolve(),
    },
    attach: attachTo({ withPods: false, clock, log }),
    lookAgainMs: lookAtKubeconfigsMs,
    clock,
    log,
  })
}

/** Every look is a request, from each process that watches attached clusters. */
export const lookAtKubeconfigsMs = 30_000

export function attachTo(options: { readonly withPods: boolean; readonly clock: Clock; readonly log: Logger }) {
  return async (id: string, kubeconfig: string) =>
    watchAttachedCluster({ ...options, id, client: await connectKubernetesText(kubeconfig) })
}

function isHome({ metadata }: Cluster): boolean {
  return metadata.labels?.[homeLabel] !== undefined
}
