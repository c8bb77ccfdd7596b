import { type Cluster, type ClusterStatus, clusterIdOf } from '../resources/cluster.ts'
import { type Node, isNodeReady, simulatedCardsLabel } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'
import { cardDisplayName, isCardName } from './card-name.ts'
import { type MilliAmounts, capacityOf, quotaOf, usedBy } from './resource-use.ts'

export interface ClusterDetail {
  readonly id: string
  readonly name: string
  readonly status: ClusterStatus
  readonly utilizationRate: {
    readonly gpu: readonly CardUse[]
    /** In whole GiB. */
    readonly mem: ResourceUse
    /** In whole cores. */
    readonly cpu: ResourceUse
  }
}

export interface ResourceUse {
  readonly hard: number
  readonly used: number
}

export interface CardUse extends ResourceUse {
  readonly name: string
  readonly displayName: string
  /** Cards, cores and GiB that come with one card, separated by colons. */
  readonly ratio: string
}

const milliCore = 1000
const milliGibibyte = 1000 * 2 ** 30

/** `answers` tells whether the cluster's control plane does. */
export function clusterDetail(
  cluster: Cluster,
  nodes: readonly Node[],
  pods: readonly Pod[],
  answers = true,
): ClusterDetail {
  const hard = quotaOf(cluster, capacityOf(nodes))
  const used = usedBy(pods)
  const cards = new Set([...hard.keys(), ...used.keys()].filter(isCardName))
  return {
    id: clusterIdOf(cluster) ?? cluster.metadata.name,
    name: cluster.spec.displayName,
    status: clusterStatus(cluster, nodes, answers),
    utilizationRate: {
      gpu: [...cards].sort().map((name) => cardUse(name, nodes, hard, used)),
      mem: resourceUse(hard.get('memory') ?? 0, used.get('memory') ?? 0, milliGibibyte),
      cpu: resourceUse(hard.get('cpu') ?? 0, used.get('cpu') ?? 0, milliCore),
    },
  }
}

function clusterStatus(cluster: Cluster, nodes: readonly Node[], answers: boolean): ClusterStatus {
  const { metadata, status } = cluster
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Deleting') return 'Deleting'
  if (answers && nodes.some(isNodeReady)) return 'Running'
  // A cluster that never ran is still being created; one that did run has a problem.
  return status?.phase === undefined || status.phase === 'Creating' ? 'Creating' : 'Abnormal'
}

function cardUse(name: string, nodes: readonly Node[], hard: MilliAmounts, used: MilliAmounts): CardUse {
  const holders = nodes.filter((node) => (capacityOf([node]).get(name) ?? 0) > 0)
  return {
    name,
    displayName: cardDisplayName(name) + simulatedNote(holders),
    ...resourceUse(hard.get(name) ?? 0, used.get(name) ?? 0, 1000),
    ratio: ratioOf(holders),
  }
}

export function simulatedNote(holders: readonly Node[]): string {
  const simulated = holders.filter(({ metadata }) => metadata.labels?.[simulatedCardsLabel] === 'true').length
  if (simulated === 0) return ''
  return simulated === holders.length ? ' (simulated)' : ' (partly simulated)'
}

/** The cores and memory of the nodes, divided evenly among all their cards. */
function ratioOf(holders: readonly Node[]): string {
  const there = capacityOf(holders)
  let cards = 0
  for (const [resource, amount] of there) if (isCardName(resource)) cards += amount / 1000
  const perCard = (resource: string, unit: number) =>
    Math.max(1, Math.floor((there.get(resource) ?? 0) / unit / Math.max(1, cards)))
  return `1:${perCard('cpu', milliCore)}:${perCard('memory', milliGibibyte)}`
}

function resourceUse(hard: number, used: number, unit: number): ResourceUse {
  const wholeHard = Math.floor(hard / unit)
  const wholeUsed = Math.ceil(used / unit)
  // Rounding alone must not show more in use than there is.
  return { hard: wholeHard, used: used <= hard ? Math.min(wholeUsed, wholeHard) : wholeUsed }
}
