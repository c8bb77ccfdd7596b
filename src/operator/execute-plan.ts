import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { EventRecorder } from '../cluster/event-recorder.ts'
import type { Clock } from '../foundation/clock.ts'
import { refOf } from '../resources/kubernetes-object.ts'
import { drainingAnnotation } from '../resources/model-labels.ts'
import type { Model } from '../resources/model.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { isStatusError } from '../resources/status-error.ts'
import type { PodPlan } from './plan-pods.ts'

interface Hands {
  readonly client: ClusterClient
  readonly events: Pick<EventRecorder, 'record'>
  readonly clock: Clock
}

/**
 * Carries out a plan. Pods that are gone meanwhile need nothing more; a Pod that the cluster refuses is reported, not
 * thrown.
 */
export async function executePlan(
  plan: PodPlan,
  model: Model,
  { client, events, clock }: Hands,
  signal: AbortSignal,
): Promise<{ readonly refused?: string }> {
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
  for (const pod of plan.create) {
    try {
      await client.create(podKind, pod, signal)
    } catch (error) {
      if (!isStatusError(error, 'Invalid', 'Forbidden', 'BadRequest')) throw error
      events.record(model, 'Warning', 'PodRefused', error.message)
      return { refused: error.message }
    }
    events.record(model, 'Normal', 'PodCreated', `Pod ${pod.metadata.name} was created`)
  }
  return {}

  function tell(pod: Pod, reason: string, why: string): void {
    events.record(model, 'Normal', reason, `Pod ${pod.metadata.name}: ${why}`)
  }
}

function annotate(client: ClusterClient, pod: Pod, value: string | null, signal: AbortSignal): Promise<boolean> {
  // With the uid, the patch is refused if the name belongs to another Pod by now.
  const metadata = { uid: pod.metadata.uid, annotations: { [drainingAnnotation]: value } }
  return unlessGone(() => client.patch(podKind, refOf(pod), { metadata }, signal))
}

async function unlessGone(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act()
    return true
  } catch (error) {
    if (isStatusError(error, 'NotFound', 'Conflict')) return false
    throw error
  }
}
