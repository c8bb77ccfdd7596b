import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { type PersistentVolumeClaim, persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { type PersistentVolume, persistentVolumeKind } from '../../resources/persistent-volume.ts'
import { volumePhase } from './plan-claim.ts'
import { type VolumeReclaim, isReclaimed } from './volume-reclaim.ts'
import { claimOfSource, volumeProtection } from './node-volume.ts'
import { retryConflicts } from '../retry-conflicts.ts'

export interface VolumePhasesOptions {
  readonly client: ClusterClient
  readonly claims: ObjectCache<PersistentVolumeClaim>
  readonly volumes: ObjectCache<PersistentVolume>
  readonly reclaim: VolumeReclaim
  readonly clock: Clock
  readonly log: Logger
}

/** Reports whether each of the node's volumes is bound, and reclaims those whose claims are gone. */
export class VolumePhases {
  readonly #options: VolumePhasesOptions
  readonly #queue: WorkQueue

  constructor(options: VolumePhasesOptions) {
    this.#options = options
    const { clock, log, claims, volumes } = options
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'volumes', clock, log, reconcile })
    volumes.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#queue.add(refOf(object))
    })
    claims.onChange(({ object: { spec } }) => {
      if (spec.volumeName) this.#queue.add({ name: spec.volumeName })
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile({ name }: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, claims, volumes, reclaim } = this.#options
    const volume = volumes.get({ name })
    if (!volume || claimOfSource(volume) === undefined) return
    const { namespace, name: claimName } = volume.spec.claimRef ?? {}
    const ref = claimName === undefined ? undefined : { namespace, name: claimName }
    let phase = volumePhase(volume, ref && claims.get(ref))
    if (phase === 'Released' && ref) {
      // Read from the cluster: the cache may show the volume before its claim.
      phase = volumePhase(volume, await client.get(persistentVolumeClaimKind, ref, signal))
    }
    if (phase === undefined) return
    const { deletionTimestamp, finalizers = [] } = volume.metadata
    if (phase === 'Released' && isReclaimed(volume)) return reclaim.reclaim(volume, signal)
    if (deletionTimestamp !== undefined && phase !== 'Bound') {
      return finalizers.includes(volumeProtection) ? reclaim.unprotect(volume, signal) : undefined
    }
    if (volume.status?.phase === phase) return
    await client.updateStatus(persistentVolumeKind, { ...volume, status: { ...volume.status, phase } }, signal)
  }
}
