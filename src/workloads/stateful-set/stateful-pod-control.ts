import type { ClusterClient, NewObject } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { ControllerRevision } from '../../resources/controller-revision.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { type PersistentVolumeClaim, persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import type { StatefulSet } from '../../resources/stateful-set.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { isNamespaceEnding, podFromTemplate, told } from '../pods/pod-control.ts'
import { ownersOfClaim } from './claim-retention.ts'
import type { PodRemoval } from './plan-stateful-set.ts'
import { claimNames, claimsFor, identityOf, ordinalOf, podName, templateFor } from './pod-identity.ts'
import { templateOf } from './revision-history.ts'

export interface StatefulPodControlOptions {
  readonly client: ClusterClient
  readonly claims: ObjectCache<PersistentVolumeClaim>
  readonly events: Events
}

/** Creates and deletes a StatefulSet's Pods and their claims, and records Events about it. */
export class StatefulPodControl {
  readonly #options: StatefulPodControlOptions

  constructor(options: StatefulPodControlOptions) {
    this.#options = options
  }

  async create(set: StatefulSet, ordinal: number, revision: ControllerRevision, signal: AbortSignal): Promise<void> {
    const { client, events } = this.#options
    const name = podName(set, ordinal)
    const template = templateFor(set, templateOf(revision) ?? set.spec.template, ordinal)
    const pod = podFromTemplate(set, template, identityOf(set, ordinal, revision.metadata.name))
    try {
      await this.#createClaims(set, ordinal, signal)
      await client.create(podKind, pod, signal)
    } catch (error) {
      // It exists already; the cache will show it.
      if (isStatusError(error, 'AlreadyExists') || isNamespaceEnding(error)) return
      const message = `create Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${told(error)}`
      events.record(set, 'Warning', 'FailedCreate', message)
      throw error
    }
    const message = `create Pod ${name} in StatefulSet ${set.metadata.name} successful`
    events.record(set, 'Normal', 'SuccessfulCreate', message)
  }

  async remove(set: StatefulSet, { pod, reason }: PodRemoval, signal: AbortSignal): Promise<void> {
    const { client, events } = this.#options
    const { name, uid, namespace } = pod.metadata
    if (reason === 'Failed' || reason === 'Succeeded') {
      const [event, word] =
        reason === 'Failed' ? ['RecreatingFailedPod', 'failed'] : ['RecreatingTerminatedPod', 'terminated']
      const message = `StatefulSet ${namespace}/${set.metadata.name} is recreating ${word} Pod ${name}`
      events.record(set, reason === 'Failed' ? 'Warning' : 'Normal', event, message)
    }
    if (reason === 'surplus') await this.#retain(set, pod, true, signal)
    try {
      await client.delete(podKind, refOf(pod), { uid }, signal)
    } catch (error) {
      if (isStatusError(error, 'NotFound', 'Conflict')) return
      const message = `delete Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${told(error)}`
      events.record(set, 'Warning', 'FailedDelete', message)
      throw error
    }
    const message = `delete Pod ${name} in StatefulSet ${set.metadata.name} successful`
    events.record(set, 'Normal', 'SuccessfulDelete', message)
  }

  /** Creates claims that Pods are waiting for, and sets who owns the claims. */
  async keep(set: StatefulSet, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    if ((set.spec.volumeClaimTemplates ?? []).length === 0) return
    const end = (set.spec.ordinals?.start ?? 0) + (set.spec.replicas ?? 1)
    for (const pod of pods) {
      const ordinal = ordinalOf(set.metadata.name, pod)
      if (ordinal === undefined || ordinal >= end) continue
      if (pod.status?.phase === 'Pending') await this.#createClaims(set, ordinal, signal)
      await this.#retain(set, pod, false, signal)
    }
  }

  async #createClaims(set: StatefulSet, ordinal: number, signal: AbortSignal): Promise<void> {
    for (const claim of claimsFor(set, ordinal)) await this.#createClaim(set, ordinal, claim, signal)
  }

  async #createClaim(
    set: StatefulSet,
    ordinal: number,
    claim: NewObject<PersistentVolumeClaim>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, claims, events } = this.#options
    const { name = '', namespace } = claim.metadata
    if (claims.get({ name, namespace })) return
    const what = `create Claim ${name} Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name}`
    try {
      await client.create(persistentVolumeClaimKind, claim, signal)
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return
      if (!isNamespaceEnding(error))
        events.record(set, 'Warning', 'FailedCreate', `${what} failed error: ${told(error)}`)
      throw error
    }
    events.record(set, 'Normal', 'SuccessfulCreate', `${what} success`)
  }

  /** Sets the owners of a Pod's claims by the set's retention policy. */
  async #retain(set: StatefulSet, pod: Pod, leaving: boolean, signal: AbortSignal): Promise<void> {
    const { client, claims } = this.#options
    const { namespace } = set.metadata
    const ordinal = ordinalOf(set.metadata.name, pod)
    if (ordinal === undefined) return
    for (const { claim: name } of claimNames(set, ordinal)) {
      const claim = claims.get({ namespace, name })
      const ownerReferences = claim && ownersOfClaim(set, pod, claim, leaving)
      if (!claim || !ownerReferences) continue
      const { uid, resourceVersion } = claim.metadata
      const patch = { metadata: { uid, resourceVersion, ownerReferences } }
      await client.patch(persistentVolumeClaimKind, refOf(claim), patch, signal)
    }
  }
}
