import { z } from 'zod'
import type { Container, Pod } from '../../resources/pod.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import { isSidecar } from './pod-parts.ts'

type Resource = 'memory' | 'cpu'

const ofWholePod = z.object({ limits: z.record(z.string(), z.union([z.string(), z.number()])) })

/**
 * The limit of a whole Pod, computed as the kubelet does. 0 means no limit: it takes only one container without a
 * limit.
 */
export function podLimit({ spec }: Pod, resource: Resource): number {
  const open: Readonly<Record<string, unknown>> = spec
  const whole = ofWholePod.safeParse(open['resources'])
  const given = whole.success ? whole.data.limits[resource] : undefined
  if (given !== undefined) return amountOf(String(given))
  const limitOf = ({ resources }: Container) => amountOf(resources?.limits?.[resource])
  const sum = (containers: readonly Container[]) => containers.reduce((total, each) => total + limitOf(each), 0)
  const inits = spec.initContainers ?? []
  if (![...inits, ...spec.containers].every((container) => limitOf(container) > 0)) return 0
  const alone = inits.map((container, index) => {
    const before = sum(inits.slice(0, index).filter(isSidecar))
    return isSidecar(container) ? 0 : before + limitOf(container)
  })
  return Math.max(sum([...spec.containers, ...inits.filter(isSidecar)]), ...alone)
}

export function amountOf(quantity: string | undefined): number {
  return quantity === undefined ? 0 : (parseQuantity(quantity) ?? 0)
}
