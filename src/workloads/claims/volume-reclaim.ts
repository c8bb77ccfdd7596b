import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { type PersistentVolume, persistentVolumeKind } from '../../resources/persistent-volume.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { claimOfSource, isProvisioned, volumeProtection } from './node-volume.ts'
import type { Events } from '../../cluster/event-recorder.ts'

/** Where the node keeps the data of claims: a folder for each. */
export interface ClaimFolders {
  /** Creates the folder if there is none. `filled` when there is something in it already. */
  prepare(claim: string, namespace: string): Promise<'empty' | 'filled'>
  remove(claim: string, namespace: string): Promise<void>
}

export interface VolumeReclaimOptions {
  readonly client: ClusterClient
  /** Without it nothing on disk is touched. */
  readonly folders?: ClaimFolders | undefined
  /** Models name claims directly and are asleep most of the time, so no Pod shows that they need one. */
  readonly models: () => readonly KubernetesObject[]
  readonly events: Events
}

/** Removes volumes whose claims are gone, with their files, if the reclaim policy is Delete. */
export class VolumeReclaim {
  readonly #options: VolumeReclaimOptions

  constructor(options: VolumeReclaimOptions) {
    this.#options = options
  }

  /**
   * The files are deleted before the volume, and while the claim still has its name, so that a new claim never finds
   * them half gone.
   */
  async reclaim(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, folders, events } = this.#options
    const folder = claimOfSource(volume)
    const namespace = volume.spec.claimRef?.namespace
    if (folder === undefined || namespace === undefined || !isReclaimed(volume)) return
    const keeper = await this.#keeperOf(folder, namespace, volume, signal)
    if (keeper !== undefined) {
      events.record(volume, 'Normal', 'FilesKept', `the files of the claim ${folder} stay: ${keeper}`)
    } else {
      await folders?.remove(folder, namespace)
    }
    const { uid, finalizers = [] } = volume.metadata
    try {
      if (finalizers.includes(volumeProtection)) await this.unprotect(volume, signal)
      await client.delete(persistentVolumeKind, refOf(volume), { uid }, signal)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  async unprotect({ metadata }: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion, finalizers = [] } = metadata
    const kept = finalizers.filter((finalizer) => finalizer !== volumeProtection)
    const patch = { metadata: { uid, resourceVersion, finalizers: kept } }
    await this.#options.client.patch(persistentVolumeKind, { name }, patch, signal)
  }

  /** Who else in the namespace needs what is in the folder. */
  async #keeperOf(
    folder: string,
    namespace: string,
    { spec }: PersistentVolume,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { client, models } = this.#options
    const claims = await client.list(persistentVolumeClaimKind, { namespace }, signal)
    const other = claims.items.find(({ metadata }) => metadata.name === folder && metadata.uid !== spec.claimRef?.uid)
    if (other) return `the claim ${nameOf(other)} has the same`
    const pods = await client.list(podKind, { namespace }, signal)
    const pod = pods.items.find((candidate) => candidate.spec.nodeName !== undefined && mounts(candidate, folder))
    if (pod) return `the Pod ${nameOf(pod)} mounts them`
    const model = models().find(
      (candidate) => candidate.metadata.namespace === namespace && modelUrlOf(candidate).startsWith(`pvc://${folder}/`),
    )
    return model && `the Model ${nameOf(model)} needs them`
  }
}

/** Whether the volume was created for a claim, to go with it. */
export function isReclaimed(volume: PersistentVolume): boolean {
  return isProvisioned(volume) && volume.spec.persistentVolumeReclaimPolicy === 'Delete'
}

export function claimsOfPod({ spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}

function mounts(pod: Pod, claim: string): boolean {
  return claimsOfPod(pod).includes(claim)
}

function modelUrlOf({ spec }: KubernetesObject): string {
  const url = typeof spec === 'object' && spec !== null && 'url' in spec ? spec.url : undefined
  return typeof url === 'string' ? url : ''
}

function nameOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}
