import { EventRecorder } from '../../cluster/event-recorder.ts'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { modelKind } from '../../resources/model.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import { persistentVolumeKind } from '../../resources/persistent-volume.ts'
import type { Pod } from '../../resources/pod.ts'
import { storageClassKind } from '../../resources/storage-class.ts'
import { type ClaimFolders, VolumeReclaim } from './volume-reclaim.ts'
import { VolumePhases } from './volume-phases.ts'
import { ClaimBinder } from './claim-binder.ts'
import type { WatchedKinds } from '../kind-caches.ts'
import type { Runs } from '../workload-runners.ts'

export interface ClaimRunnersOptions {
  readonly client: ClusterClient
  readonly watch: <T extends KubernetesObject>(kind: Kind<T>) => ObjectCache<T>
  readonly watched: WatchedKinds
  readonly claims: ObjectCache<PersistentVolumeClaim>
  readonly pods: ObjectCache<Pod>
  readonly claimFolders?: ClaimFolders | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** The controllers that bind claims to volumes. */
export function claimRunners(options: ClaimRunnersOptions): readonly Runs[] {
  const { client, watch, watched, claims, pods, claimFolders: folders, clock, log } = options
  const events = new EventRecorder({ client, component: 'persistentvolume-controller', clock, log })
  const models = () => watched.find(resourceNameOf(modelKind))?.cache.list() ?? []
  const reclaim = new VolumeReclaim({ client, folders, models, events })
  const volumes = watch(persistentVolumeKind)
  const shared = { client, claims, volumes, reclaim, clock, log }
  return [
    new ClaimBinder({ ...shared, classes: watch(storageClassKind), pods, folders, events }),
    new VolumePhases(shared),
  ]
}
