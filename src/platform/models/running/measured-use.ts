import { parseQuantity } from '../../../resources/quantity.ts'
import type { PodMetrics } from '../../../resources/resource-metrics.ts'

/** What Pods use right now, as it was measured. */
export interface MeasuredUse {
  readonly cores: number
  readonly memoryBytes: number
}

/** Of these Pods together; undefined while none of them was measured. */
export function measuredUse(pods: readonly string[], measured: readonly PodMetrics[]): MeasuredUse | undefined {
  const own = new Set(pods)
  const containers = measured.filter(({ metadata }) => own.has(metadata.name)).flatMap((metrics) => metrics.containers)
  if (containers.length === 0) return undefined
  const sum = (resource: 'cpu' | 'memory') =>
    containers.reduce((total, { usage }) => total + (parseQuantity(usage[resource]) ?? 0), 0)
  return { cores: sum('cpu'), memoryBytes: sum('memory') }
}
