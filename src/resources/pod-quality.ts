import { parseQuantity } from './quantity.ts'

export type QualityOfService = 'Guaranteed' | 'Burstable' | 'BestEffort'

const counted = ['cpu', 'memory']

/** How a Pod is treated when its node runs short, by what its containers request and whether they may use more. */
export function podQualityOfService(spec: unknown): QualityOfService {
  const containers = [...listIn(spec, 'containers'), ...listIn(spec, 'initContainers')]
  const asked = containers.map((container) => ({
    requests: amounts(fieldOf(fieldOf(container, 'resources'), 'requests')),
    limits: amounts(fieldOf(fieldOf(container, 'resources'), 'limits')),
  }))
  if (asked.every(({ requests, limits }) => requests.size === 0 && limits.size === 0)) return 'BestEffort'
  const guaranteed = asked.every(({ requests, limits }) =>
    counted.every((name) => limits.has(name) && (requests.get(name) ?? limits.get(name)) === limits.get(name)),
  )
  return guaranteed ? 'Guaranteed' : 'Burstable'
}

function amounts(quantities: unknown): Map<string, number> {
  const result = new Map<string, number>()
  for (const name of counted) {
    const value = fieldOf(quantities, name)
    const amount = typeof value === 'string' || typeof value === 'number' ? parseQuantity(String(value)) : undefined
    if (amount) result.set(name, amount)
  }
  return result
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined
}

function listIn(value: unknown, field: string): unknown[] {
  const list = fieldOf(value, field)
  return Array.isArray(list) ? list : []
}
