import { z } from 'zod'
import type { Container, Pod } from '../../resources/pod.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import { isSidecar } from '../pod-parts.ts'

const ofWholePod = z.object({ limits: z.object({ memory: z.union([z.string(), z.number()]) }) })

/**
 * How large a volume in memory may become, as the kubelet has it: never more than what Pods can have of the node's memory, nor than
 * the Pod's own limit where all of its containers have one, nor than the volume's `sizeLimit`.
 */
export function memoryVolumeBytes(pod: Pod, sizeLimit: string | undefined, nodeBytes: number): number {
  const limits = [podMemoryLimit(pod), bytesOf(sizeLimit)].filter((bytes) => bytes > 0)
  return Math.floor(Math.min(nodeBytes, ...limits))
}

/** 0 where there is none: one container without a limit of its own has all of the node's memory. */
function podMemoryLimit({ spec }: Pod): number {
  const open: Readonly<Record<string, unknown>> = spec
  const whole = ofWholePod.safeParse(open['resources'])
  if (whole.success) return bytesOf(String(whole.data.limits.memory))
  const inits = spec.initContainers ?? []
  const isLimited = [...inits, ...spec.containers].every((container) => limitOf(container) > 0)
  if (!isLimited) return 0
  const alone = inits.map((container, index) => {
    const before = sum(inits.slice(0, index).filter(isSidecar))
    return isSidecar(container) ? 0 : before + limitOf(container)
  })
  return Math.max(sum([...spec.containers, ...inits.filter(isSidecar)]), ...alone)
}

function sum(containers: readonly Container[]): number {
  return containers.reduce((total, container) => total + limitOf(container), 0)
}

function limitOf({ resources }: Container): number {
  return bytesOf(resources?.limits?.['memory'])
}

function bytesOf(quantity: string | undefined): number {
  return quantity === undefined ? 0 : (parseQuantity(quantity) ?? 0)
}
