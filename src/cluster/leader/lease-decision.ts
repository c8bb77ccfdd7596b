/** A lease as it is stored. */
export interface LeaseRecord {
  readonly holder: string
  readonly durationMs: number
  /** Changes with every renewal, so that observers need no clock but their own. */
  readonly version: string
}

/** When this record was first seen, by the observer's own clock. */
export interface Observation {
  readonly version: string
  readonly at: number
}

export type LeaseStep = 'create' | 'renew' | 'take' | 'wait'

/**
 * What to do with a lease now. Clocks of two machines differ, so the times in the record are not trusted: a lease has
 * expired when its record has not changed for its duration, by the observer's own clock.
 */
export function decideLease(input: {
  readonly now: number
  readonly identity: string
  readonly record: LeaseRecord | undefined
  readonly observed: Observation | undefined
}): LeaseStep {
  const { now, identity, record, observed } = input
  if (!record) return 'create'
  if (record.holder === identity) return 'renew'
  if (record.holder === '') return 'take'
  if (!observed || observed.version !== record.version) return 'wait'
  return now - observed.at >= record.durationMs ? 'take' : 'wait'
}
