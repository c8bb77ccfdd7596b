import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { EventRecorder } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import { refOf } from '../resources/kubernetes-object.ts'
import { drainingAnnotation } from '../resources/model-labels.ts'
import type { Model } from '../resources/model.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { groupGate, placingAnnotation } from '../resources/serving-group.ts'
import { isStatusError } from '../resources/status-error.ts'
import type { GroupRoom } from './groups/group-room.ts'
import { ensureGroupService } from './groups/group-service.ts'
import type { PodPlan } from './plan-pods.ts'

interface Hands {
  readonly client: ClusterClient
  readonly events: Pick<EventRecorder, 'record'>
  readonly clock: Clock
  readonly groupRoom?: Pick<GroupRoom, 'reserve'> | undefined
}

const unlimited: Pick<GroupRoom, 'reserve'> = { reserve: () => true }

/**
 * Carries out a plan. Pods that are gone meanwhile need nothing more; a Pod that the cluster refuses is reported, not
 * thrown.
 */
export async function executePlan(
  plan: PodPlan,
  model: Model,
  { client, events, clock, groupRoom = unlimited }: Hands,
  signal: AbortSignal,
): Promise<{ readonly created: readonly Pod[]; readonly refused?: string }> {
  const created: Pod[] = []
  for (const pod of plan.recall) {
    if (await annotate(client, pod, null, signal)) tell(pod, 'Recalled', 'wanted again')
  }
  for (const pod of plan.drain) {
    const since = new Date(clock.now()).toISOString()
    if (await annotate(client, pod, since, signal)) tell(pod, 'Draining', 'it gets no new requests')
  }
  for (const pod of plan.delete) {
    const gone = await unlessGone(() => client.delete(podKind, refOf(pod), { uid: pod.metadata.uid }, signal))
    if (gone) tell(pod, 'PodDeleted', 'nothing is left for it to do')
  }
  for (const group of plan.lift) {
    if (!groupRoom.reserve(group)) continue
    for (const pod of group) await unlessGone(() => lift(client, pod, clock.now(), signal))
    events.record(model, 'Normal', 'GroupPlacing', `There is room for ${group.length} Pods: ${namesOf(group)}`)
  }
  for (const [index, pod] of plan.create.entries()) {
    try {
      if (index === 0 && pod.spec.subdomain !== undefined) await ensureGroupService(client, model, signal)
      created.push(await client.create(podKind, pod, signal))
    } catch (error) {
      if (!isStatusError(error, 'Invalid', 'Forbidden', 'BadRequest')) throw error
      events.record(model, 'Warning', 'PodRefused', error.message)
      return { created, refused: error.message }
    }
    events.record(model, 'Normal', 'PodCreated', `Pod ${pod.metadata.name} was created`)
  }
  return { created }

  function tell(pod: Pod, reason: string, why: string): void {
    events.record(model, 'Normal', reason, `Pod ${pod.metadata.name}: ${why}`)
  }
}

function annotate(client: ClusterClient, pod: Pod, value: string | null, signal: AbortSignal): Promise<boolean> {
  // With the uid, the patch is refused if the name belongs to another Pod by now.
  const metadata = { uid: pod.metadata.uid, annotations: { [drainingAnnotation]: value } }
  return unlessGone(() => client.patch(podKind, refOf(pod), { metadata }, signal))
}

function lift(client: ClusterClient, pod: Pod, now: number, signal: AbortSignal): Promise<Pod> {
  const annotations = { [placingAnnotation]: new Date(now).toISOString() }
  const schedulingGates = (pod.spec.schedulingGates ?? []).filter(({ name }) => name !== groupGate)
  const patch = { metadata: { uid: pod.metadata.uid, annotations }, spec: { schedulingGates } }
  return client.patch(podKind, refOf(pod), patch, signal)
}

function namesOf(pods: readonly Pod[]): string {
  return pods.map(({ metadata }) => metadata.name).join(', ')
}

async function unlessGone(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act()
    return true
  } catch (error) {
    if (isStatusError(error, 'NotFound', 'Conflict') || isOfAnother(error)) return false
    throw error
  }
}

/** That the name is another Pod's by now is a conflict to a deletion, but to a patch it is an invalid uid. */
function isOfAnother(error: unknown): boolean {
  return isStatusError(error, 'Invalid') && (error.details.causes ?? []).some(({ field }) => field === 'metadata.uid')
}
