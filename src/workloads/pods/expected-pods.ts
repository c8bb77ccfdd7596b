import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import type { ObjectChange } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { PodTemplate } from '../../resources/pod-template.ts'
import type { Pod } from '../../resources/pod.ts'
import { Expectations } from '../owned/expectations.ts'
import { controllerOf } from '../owned/owned-objects.ts'
import { slowStart } from '../owned/slow-start.ts'
import { PodControl, type PodIdentity } from './pod-control.ts'

export interface ExpectedPodsOptions {
  readonly client: ClusterClient
  readonly events: Events
  readonly clock: Pick<Clock, 'now'>
}

export interface PodToCreate {
  readonly template: PodTemplate
  readonly identity?: PodIdentity
}

/**
 * Creates and deletes the Pods of owners, and knows what of that the cache does not show yet. A controller must not
 * count an owner's Pods before the cache shows everything, or it creates them twice.
 */
export class ExpectedPods {
  readonly #expectations: Expectations
  readonly #control: PodControl

  constructor({ client, events, clock }: ExpectedPodsOptions) {
    this.#expectations = new Expectations(clock)
    this.#control = new PodControl(client, events)
  }

  /** Whether the cache shows everything that was done for this owner. Ask before the Pods are read from the cache. */
  allShown({ metadata }: KubernetesObject): boolean {
    return this.#expectations.satisfied(metadata.uid ?? '')
  }

  /** To be told of every change of a Pod that the cache shows. */
  podChanged({ type, object }: ObjectChange<Pod>): void {
    const owner = controllerOf(object)
    if (!owner) return
    const { uid = '', deletionTimestamp } = object.metadata
    if (type === 'added') this.#expectations.creationObserved(owner.uid)
    if (type === 'deleted' || deletionTimestamp !== undefined) this.#expectations.deletionObserved(owner.uid, uid)
  }

  ownerDeleted({ metadata }: KubernetesObject): void {
    this.#expectations.forget(metadata.uid ?? '')
  }

  /** A few at first and more as long as that works; resolves to the first failure, if there was one. */
  async create(owner: KubernetesObject, wanted: readonly PodToCreate[], signal: AbortSignal): Promise<unknown> {
    if (wanted.length === 0) return undefined
    const { uid = '' } = owner.metadata
    this.#expectations.expectCreations(uid, wanted.length)
    const { skipped, failure } = await slowStart(wanted, async ({ template, identity = {} }) => {
      try {
        await this.#control.create(owner, template, identity, signal)
      } catch (error) {
        this.#expectations.creationObserved(uid)
        throw error
      }
    })
    this.#expectations.creationObserved(uid, skipped)
    return failure
  }

  /** All at once; resolves to the first failure, if there was one, after every Pod has been tried. */
  async delete(owner: KubernetesObject, pods: readonly Pod[], signal: AbortSignal): Promise<unknown> {
    const outcomes = await Promise.allSettled(pods.map((pod) => this.#delete(owner, pod, signal)))
    return outcomes.find((outcome) => outcome.status === 'rejected')?.reason
  }

  async #delete(owner: KubernetesObject, pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid: ownerUid = '' } = owner.metadata
    const { uid = '' } = pod.metadata
    this.#expectations.expectDeletion(ownerUid, uid)
    let deleted = false
    try {
      deleted = await this.#control.delete(owner, pod, signal)
    } finally {
      // Nothing was deleted, so the cache will show no deletion either.
      if (!deleted) this.#expectations.deletionObserved(ownerUid, uid)
    }
  }
}
