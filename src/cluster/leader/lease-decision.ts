/** A lease as it is written down. */
export interface LeaseRecord {
  readonly holder: string
  readonly durationMs: number
  /** Changes with every renewal: who watches it needs no clock but his own. */
  readonly version: string
}

/** When this record was first seen, by the clock of the one who looks. */
export interface Observation {
  readonly version: string
  readonly at: number
}

export type LeaseStep = 'create' | 'renew' | 'take' | 'wait'

/**
 * What to do with a lease now. Clocks of two machines differ, so the times written in it are not believed: it has run
 * out when its record has not changed for as long as it lasts, by the own clock.
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
