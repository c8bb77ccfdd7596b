import { totalmem } from 'node:os'
import type { PodFolders } from '../pods/pod-folders.ts'
import { podVolumes } from '../pods/pod-parts.ts'
import type { ContainerLaunch } from '../pod-runtime.ts'
import { memoryVolumeBytes } from './memory-size.ts'

/** Mounts a Pod's memory volumes. Returns whether existing namespaces cannot see some of them. */
export async function mountMemoryVolumes(
  folders: Pick<PodFolders, 'mountMemory'>,
  { pod, allocatable }: Pick<ContainerLaunch, 'pod' | 'allocatable'>,
  signal: AbortSignal,
): Promise<boolean> {
  let unseen = false
  for (const { name, emptyDir } of podVolumes(pod)) {
    if (emptyDir?.medium !== 'Memory') continue
    const bytes = memoryVolumeBytes(pod, emptyDir.sizeLimit, allocatable?.memoryBytes ?? totalmem())
    unseen = (await folders.mountMemory(pod.metadata.uid ?? '', name, bytes, signal)) || unseen
  }
  return unseen
}
