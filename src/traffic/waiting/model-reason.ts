import type { Model } from '../../resources/model.ts'

/**
 * Why the Model cannot start, or `undefined` if it may. A failure of an older version of the Model does not count: it
 * may have been fixed since.
 */
export function startFailureOf(model: Model): string | undefined {
  const { status, metadata } = model
  if (status?.phase !== 'Failed') return undefined
  if (status.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return undefined
  return status.message ?? failedCondition(model) ?? 'its server ended; the events of the Model say more'
}

/** The reason given to a request that waited in vain. */
export function whyAsleep(model: Model | undefined): string {
  const phase = model?.status?.phase ?? 'Asleep'
  return model?.status?.message ?? `it is still ${phase}`
}

function failedCondition({ status }: Model): string | undefined {
  return status?.conditions?.find((condition) => condition.status === 'False' && condition.message)?.message
}
