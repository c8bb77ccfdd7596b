import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { type PersistentVolumeClaim, persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { type PersistentVolume, persistentVolumeKind } from '../../resources/persistent-volume.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { StorageClass } from '../../resources/storage-class.ts'
import { planClaim, volumeOfClaim } from './plan-claim.ts'
import { type ClaimFolders, type VolumeReclaim, claimsOfPod } from './volume-reclaim.ts'
import { claimProtection, grownCapacity, isReservedFor, newVolume, nodeVolumeDriver } from './node-volume.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { sameStatus } from '../status-fields.ts'

export interface ClaimBinderOptions {
  readonly client: ClusterClient
  readonly claims: ObjectCache<PersistentVolumeClaim>
  readonly volumes: ObjectCache<PersistentVolume>
  readonly classes: ObjectCache<StorageClass>
  readonly pods: ObjectCache<Pod>
  readonly reclaim: VolumeReclaim
  readonly folders?: ClaimFolders | undefined
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
}

const boundAnnotations = {
  'pv.kubernetes.io/bind-completed': 'yes',
  'pv.kubernetes.io/bound-by-controller': 'yes',
  'volume.kubernetes.io/storage-provisioner': nodeVolumeDriver,
}

/** Gives claims of the node's storage classes a volume, and keeps both as long as a Pod uses them. */
export class ClaimBinder {
  readonly #options: ClaimBinderOptions
  readonly #queue: WorkQueue
  /** How many Pods name a claim; the claims of a Pod never change. */
  readonly #consumers = new Map<string, number>()

  constructor(options: ClaimBinderOptions) {
    this.#options = options
    const { clock, log, claims, volumes, classes, pods } = options
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'claims', clock, log, concurrency: 2, reconcile })
    claims.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#queue.add(refOf(object))
    })
    volumes.onChange(({ object: { spec } }) => {
      const { namespace, name } = spec.claimRef ?? {}
      if (name) this.#queue.add({ namespace, name })
    })
    classes.onChange(() => {
      for (const claim of claims.list()) if (claim.status?.phase !== 'Bound') this.#queue.add(refOf(claim))
    })
    pods.onChange(({ type, object }) => {
      // Only the beginning and the end of a Pod matter to its claims.
      if (type === 'updated') return
      for (const name of claimsOfPod(object)) {
        const ref = { namespace: object.metadata.namespace, name }
        const key = keyOf(ref)
        const consumers = (this.#consumers.get(key) ?? 0) + (type === 'added' ? 1 : -1)
        if (consumers > 0) this.#consumers.set(key, consumers)
        else this.#consumers.delete(key)
        this.#queue.add(ref)
      }
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { claims, volumes, classes } = this.#options
    const claim = claims.get(ref)
    if (!claim) return
    const volume = volumeOfClaim(claim, (volumeName) => volumes.get({ name: volumeName }))
    if (claim.metadata.deletionTimestamp !== undefined) return this.#letGo(claim, volume, signal)
    if (claim.status?.phase === 'Bound' || claim.status?.phase === 'Lost') return this.#keep(claim, volume, signal)
    const plan = planClaim({ claim, classes: classes.list(), volume, hasConsumer: this.#hasConsumer(claim) })
    switch (plan.step) {
      case 'take class':
        return this.#patch(claim, { spec: { storageClassName: plan.className } }, signal)
      case 'provision':
        return this.#provision(claim, plan.storageClass, signal)
      case 'bind':
        return this.#bind(claim, plan.volume, signal)
      case 'wait':
        this.#options.events.record(claim, plan.type, plan.reason, plan.message)
    }
  }

  /** Binding follows when the new volume is in the cache. */
  async #provision(claim: PersistentVolumeClaim, storageClass: StorageClass, signal: AbortSignal): Promise<void> {
    const { client, folders, events } = this.#options
    const folder = (await folders?.prepare(claim.metadata.name, claim.metadata.namespace ?? 'default')) ?? 'empty'
    const volume = newVolume(claim, storageClass, folder)
    try {
      await client.create(persistentVolumeKind, volume, signal)
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return
      throw error
    }
    const kept = folder === 'filled' ? ', and keeps what was there before' : ''
    const message = `Successfully provisioned volume ${volume.metadata.name ?? ''}${kept}`
    events.record(claim, 'Normal', 'ProvisioningSucceeded', message)
  }

  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { finalizers = [] } = claim.metadata
    const bound = await this.#options.client.patch(
      persistentVolumeClaimKind,
      refOf(claim),
      {
        metadata: {
          ...versionOf(claim),
          annotations: boundAnnotations,
          finalizers: [...new Set([...finalizers, claimProtection])],
        },
        spec: { volumeName: volume.metadata.name },
      },
      signal,
    )
    await this.#writeStatus(bound, volume, signal)
  }

  /** Keeps a bound claim bound, lets it grow when more is asked for, and reports when its volume is gone. */
  async #keep(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined, signal: AbortSignal): Promise<void> {
    const { client, events } = this.#options
    if (!volume || !isReservedFor(volume, claim)) {
      if (claim.status?.phase === 'Lost') return
      // Read from the cluster: the cache may be behind whoever bound it.
      const current = await client.get(persistentVolumeKind, { name: claim.spec.volumeName ?? '' }, signal)
      if (current && isReservedFor(current, claim)) return
      await client.updateStatus(persistentVolumeClaimKind, { ...claim, status: { phase: 'Lost' } }, signal)
      events.record(
        claim,
        'Warning',
        'ClaimLost',
        'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
      )
      return
    }
    const storage = grownCapacity(claim, volume)
    if (storage === undefined) return this.#writeStatus(claim, volume, signal)
    const grown = { metadata: versionOf(volume), spec: { capacity: { storage } } }
    const larger = await client.patch(persistentVolumeKind, refOf(volume), grown, signal)
    await this.#writeStatus(claim, larger, signal)
  }

  async #writeStatus(claim: PersistentVolumeClaim, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { accessModes, capacity } = volume.spec
    const status = { phase: 'Bound', accessModes, capacity }
    if (sameStatus(claim.status, status)) return
    await this.#options.client.updateStatus(persistentVolumeClaimKind, { ...claim, status }, signal)
  }

  /** A deleted claim goes when no Pod uses it any more, together with what was created for it. */
  async #letGo(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined, signal: AbortSignal): Promise<void> {
    const { client, reclaim } = this.#options
    const { name, namespace, finalizers = [] } = claim.metadata
    if (!finalizers.includes(claimProtection)) return
    const pods = await client.list(podKind, { namespace }, signal)
    if (pods.items.some((pod) => pod.spec.nodeName !== undefined && claimsOfPod(pod).includes(name))) return
    const others = finalizers.filter((finalizer) => finalizer !== claimProtection)
    // While somebody else still holds the claim, its volume waits for them.
    if (volume && isReservedFor(volume, claim) && others.length === 0) await reclaim.reclaim(volume, signal)
    await this.#patch(claim, { metadata: { finalizers: others } }, signal)
  }

  #hasConsumer(claim: PersistentVolumeClaim): boolean {
    return (this.#consumers.get(keyOf(refOf(claim))) ?? 0) > 0
  }

  async #patch(
    claim: PersistentVolumeClaim,
    change: { readonly metadata?: object; readonly spec?: object },
    signal: AbortSignal,
  ): Promise<void> {
    const patch = { ...change, metadata: { ...versionOf(claim), ...change.metadata } }
    try {
      await this.#options.client.patch(persistentVolumeClaimKind, refOf(claim), patch, signal)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
}

/** Restricts a write to exactly this version of the object. */
function versionOf({ metadata }: PersistentVolumeClaim | PersistentVolume): object {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
}
