import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { isTracked, trackingFinalizer } from './job-facts.ts'

/** Removes the finalizer from Pods that a Job no longer needs. */
export async function releaseTracked(client: ClusterClient, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
  await Promise.all(pods.map((pod) => release(client, pod, signal)))
}

async function release(client: ClusterClient, pod: Pod, signal: AbortSignal): Promise<void> {
  if (!isTracked(pod.metadata.finalizers)) return
  try {
    // The Pod's status changes often, which does not matter for its finalizers: they are removed whatever its version
    // is now.
    const current = await client.get(podKind, refOf(pod), signal)
    if (!current || current.metadata.uid !== pod.metadata.uid) return
    const { uid, resourceVersion, finalizers = [] } = current.metadata
    const kept = finalizers.filter((name) => name !== trackingFinalizer)
    if (kept.length === finalizers.length) return
    await client.patch(podKind, refOf(pod), { metadata: { uid, resourceVersion, finalizers: kept } }, signal)
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
}
