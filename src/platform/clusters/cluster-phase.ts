import type { ClusterStatus } from '../../resources/cluster.ts'

/** What decides about a cluster's status. */
export interface ClusterFacts {
  readonly isDeleting: boolean
  /** Why the cluster could not be started or attached. It is tried again. */
  readonly fault?: { readonly reason: string; readonly message: string } | undefined
  /** `undefined` until the cluster runs. */
  readonly running?:
    | {
        /** Why its API does not answer; `undefined` if it does. */
        readonly silence: string | undefined
        readonly nodes: number
        readonly readyNodes: number
      }
    | undefined
}

export interface ClusterVerdict {
  readonly phase: ClusterStatus
  readonly reason: string
  readonly message: string
}

export function clusterVerdict({ isDeleting, fault, running }: ClusterFacts): ClusterVerdict {
  if (isDeleting) return { phase: 'Deleting', reason: 'Deleting', message: 'Its Pods are stopped, and it with them.' }
  if (fault) return { phase: 'Abnormal', ...fault }
  if (!running) return { phase: 'Creating', reason: 'Starting', message: 'It is being started.' }
  const { silence, nodes, readyNodes } = running
  if (silence !== undefined) {
    return { phase: 'Abnormal', reason: 'ApiNotAnswering', message: `Its API does not answer: ${silence}` }
  }
  if (readyNodes === 0) {
    const message = nodes === 0 ? 'It has no node.' : `None of its ${nodes} nodes is Ready.`
    return { phase: 'Abnormal', reason: 'NoNodeReady', message }
  }
  return { phase: 'Running', reason: 'Running', message: 'Its API answers, and a node is Ready.' }
}

export function clusterCondition({ phase, reason, message }: ClusterVerdict) {
  const status = phase === 'Running' ? ('True' as const) : ('False' as const)
  return { type: 'Ready', status, reason, message }
}
