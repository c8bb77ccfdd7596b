import type { Model } from '../../resources/model.ts'

/**
 * Why the Model cannot start, or `undefined` when it may. A verdict about an older version of the Model does not count:
 * it may just have been mended.
 */
export function startFailureOf(model: Model): string | undefined {
  const { status, metadata } = model
  if (status?.phase !== 'Failed') return undefined
  if (status.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return undefined
  return status.message ?? failedCondition(model) ?? 'its server ended; the events of the Model say more'
}

/** What to tell somebody who waited in vain. */
export function whyAsleep(model: Model | undefined): string {
  const phase = model?.status?.phase ?? 'Asleep'
  return model?.status?.message ?? `it is still ${phase}`
}

function failedCondition({ status }: Model): string | undefined {
  return status?.conditions?.find((condition) => condition.status === 'False' && condition.message)?.message
}
