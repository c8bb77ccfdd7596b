import type { Deployment } from '../../resources/deployment.ts'
import type { ReplicaSet } from '../../resources/replica-set.ts'
import { canonical } from '../template-hash.ts'

export const hashLabel = 'pod-template-hash'
export const revisionAnnotation = 'deployment.kubernetes.io/revision'
const revisionHistory = 'deployment.kubernetes.io/revision-history'
export const desiredReplicas = 'deployment.kubernetes.io/desired-replicas'
export const maxReplicas = 'deployment.kubernetes.io/max-replicas'

/** Annotations of a Deployment that are not copied. */
const notCopied = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  revisionHistory,
  desiredReplicas,
  maxReplicas,
  'deprecated.deployment.rollback.to',
])

export interface Sets {
  /** The ReplicaSet of the Deployment's template. */
  readonly current: ReplicaSet | undefined
  /** Oldest first. */
  readonly old: readonly ReplicaSet[]
}

/** Finds the ReplicaSet of the Deployment's template: the oldest, should there be several. */
export function findCurrent(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Sets {
  const sorted = replicaSets.toSorted(byAge)
  const wanted = templateText(deployment.spec.template)
  const current = sorted.find(({ spec }) => templateText(spec.template) === wanted)
  return { current, old: sorted.filter((set) => set !== current) }
}

function templateText({ metadata, ...template }: Deployment['spec']['template']): string {
  const { [hashLabel]: _hash, ...labels } = metadata?.labels ?? {}
  const { creationTimestamp: _at, labels: _labels, annotations = {}, ...rest } = metadata ?? {}
  return canonical({ ...template, metadata: { ...rest, labels, annotations } })
}

export function byAge(left: ReplicaSet, right: ReplicaSet): number {
  const [a, b] = [left.metadata, right.metadata]
  return (a.creationTimestamp ?? '').localeCompare(b.creationTimestamp ?? '') || a.name.localeCompare(b.name)
}

/**
 * Kubernetes counts in 64 bits, and whoever adopts a ReplicaSet goes on from its number. Anything else counts as zero.
 */
export function revisionOf({ metadata }: ReplicaSet | Deployment): bigint {
  const text = metadata.annotations?.[revisionAnnotation] ?? ''
  return /^\d{1,18}$|^[1-8]\d{18}$/.test(text) ? BigInt(text) : 0n
}

export function nextRevision(old: readonly ReplicaSet[]): bigint {
  return old.map((set) => revisionOf(set)).reduce((most, one) => (one > most ? one : most), 0n) + 1n
}

export function byRevision(left: ReplicaSet, right: ReplicaSet): number {
  return Number(BigInt.asIntN(64, revisionOf(left) - revisionOf(right)))
}

/** The annotations of the current ReplicaSet: the Deployment's, its revision, and its previous ones. */
export function currentAnnotations(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  revision: bigint,
): Record<string, string> {
  const before = current?.metadata.annotations ?? {}
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !notCopied.has(name))
  const annotations = { ...before, ...Object.fromEntries(copied) }
  const had = current ? revisionOf(current) : 0n
  if (had >= revision) return annotations
  annotations[revisionAnnotation] = String(revision)
  if (had > 0n) {
    const history = [...(before[revisionHistory] ?? '').split(',').filter((text) => text !== ''), String(had)]
    annotations[revisionHistory] = history.join(',')
  }
  return annotations
}

export function sizeAnnotations(desired: number, most: number): Record<string, string> {
  return { [desiredReplicas]: String(desired), [maxReplicas]: String(most) }
}
