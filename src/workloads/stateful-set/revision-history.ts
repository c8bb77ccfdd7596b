import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { type ControllerRevision, controllerRevisionKind } from '../../resources/controller-revision.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { type PodTemplate, podTemplateSchema } from '../../resources/pod-template.ts'
import type { Pod } from '../../resources/pod.ts'
import type { StatefulSet } from '../../resources/stateful-set.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { objectIn } from '../../resources/validation/json-access.ts'
import { controllerReference } from '../owned/adopt-objects.ts'
import { controllerOf } from '../owned/owned-objects.ts'
import { canonical, templateHash } from '../template-hash.ts'
import { revisionLabel } from './pod-identity.ts'

const hashLabel = 'controller.kubernetes.io/hash'

export interface Revisions {
  readonly current: ControllerRevision
  readonly update: ControllerRevision
  readonly collisionCount: number
}

/** The set's known revisions, oldest first, and whether the template's is among them. */
export function findRevision(set: StatefulSet, revisions: readonly ControllerRevision[]) {
  const sorted = revisions.toSorted(
    (left, right) => left.revision - right.revision || left.metadata.name.localeCompare(right.metadata.name),
  )
  const wanted = canonical(dataOf(set))
  const equal = sorted.findLast(({ data }) => canonical(data) === wanted)
  return { sorted, equal, next: (sorted.at(-1)?.revision ?? 0) + 1 }
}

/** The template in a revision. */
export function templateOf(revision: ControllerRevision): PodTemplate | undefined {
  const { $patch: _patch, ...template } = objectIn(objectIn(revision.data, 'spec'), 'template') ?? {}
  return podTemplateSchema.safeParse(template).data
}

/**
 * Finds or creates the revision of the template; going back to an earlier template makes its revision the newest again.
 */
export async function syncRevisions(
  client: ClusterClient,
  set: StatefulSet,
  known: readonly ControllerRevision[],
  signal: AbortSignal,
): Promise<Revisions> {
  const { sorted, equal, next } = findRevision(set, known)
  const collisions = set.status?.collisionCount ?? 0
  const [update, collisionCount] = equal
    ? [equal === sorted.at(-1) ? equal : await renew(client, equal, next, signal), collisions]
    : await create(client, set, next, collisions, signal)
  const current = sorted.find(({ metadata }) => metadata.name === set.status?.currentRevision)
  return { current: current ?? update, update, collisionCount }
}

function renew(client: ClusterClient, found: ControllerRevision, revision: number, signal: AbortSignal) {
  const { uid, resourceVersion } = found.metadata
  return client.patch(controllerRevisionKind, refOf(found), { metadata: { uid, resourceVersion }, revision }, signal)
}

async function create(
  client: ClusterClient,
  set: StatefulSet,
  revision: number,
  collisions: number,
  signal: AbortSignal,
): Promise<[ControllerRevision, number]> {
  for (let attempt = collisions; ; attempt += 1) {
    const wanted = newRevision(set, revision, attempt)
    try {
      return [await client.create(controllerRevisionKind, wanted, signal), attempt]
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
    const there = await client.get(controllerRevisionKind, { ...wanted.metadata }, signal)
    const isOurs = there && controllerOf(there)?.uid === set.metadata.uid
    if (isOurs && canonical(there.data) === canonical(wanted.data)) return [there, attempt]
  }
}

/** Revisions beyond the history limit that no Pod has any more: the oldest. */
export function surplusRevisions(
  set: StatefulSet,
  { current, update }: Revisions,
  revisions: readonly ControllerRevision[],
  pods: readonly Pod[],
): readonly ControllerRevision[] {
  const alive = new Set([current, update].map(({ metadata }) => metadata.name))
  for (const { metadata } of pods) alive.add(metadata.labels?.[revisionLabel] ?? '')
  const history = findRevision(set, revisions).sorted.filter(({ metadata }) => !alive.has(metadata.name))
  return history.slice(0, Math.max(0, history.length - (set.spec.revisionHistoryLimit ?? 10)))
}

/** A patch that sets the template; `kubectl rollout undo` sends it as it is. */
function dataOf({ spec }: StatefulSet) {
  return { spec: { template: { ...spec.template, $patch: 'replace' } } }
}

function newRevision(set: StatefulSet, revision: number, collisions: number) {
  const { template } = set.spec
  const hash = templateHash(template, collisions)
  const { namespace } = set.metadata
  return {
    metadata: {
      name: `${set.metadata.name}-${hash}`,
      ...(namespace !== undefined && { namespace }),
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(set.metadata.annotations && { annotations: set.metadata.annotations }),
      ownerReferences: [controllerReference(set)],
    },
    data: dataOf(set),
    revision,
  }
}
