import type { Pod } from '../../resources/pod.ts'
import { amountOf, podLimit } from '../pods/pod-limits.ts'

/**
 * How large a volume in memory may become, as the kubelet has it: never more than what Pods can have of the node's
 * memory, nor than the Pod's own limit where all of its containers have one, nor than the volume's `sizeLimit`.
 */
export function memoryVolumeBytes(pod: Pod, sizeLimit: string | undefined, nodeBytes: number): number {
  const limits = [podLimit(pod, 'memory'), amountOf(sizeLimit)].filter((bytes) => bytes > 0)
  return Math.floor(Math.min(nodeBytes, ...limits))
}
