import type { Pod } from '../../resources/pod.ts'
import { amountOf, podLimit } from '../pods/pod-limits.ts'

/**
 * The size of a memory volume, as the kubelet computes it: the smallest of the memory Pods can have on the node, the
 * Pod's own limit (if all its containers have one), and the volume's `sizeLimit`.
 */
export function memoryVolumeBytes(pod: Pod, sizeLimit: string | undefined, nodeBytes: number): number {
  const limits = [podLimit(pod, 'memory'), amountOf(sizeLimit)].filter((bytes) => bytes > 0)
  return Math.floor(Math.min(nodeBytes, ...limits))
}
