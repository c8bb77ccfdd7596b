import type { Job } from '../../resources/job.ts'

const unsupported = ['podFailurePolicy', 'successPolicy', 'backoffLimitPerIndex', 'maxFailedIndexes'] as const

/** A field that says when a Job ends and that we do not know how to keep: running the Job without it would do something else. */
export function unsupportedField({ spec }: Job): string | undefined {
  const found = unsupported.find((field) => spec[field] !== undefined)
  return found === undefined ? undefined : `spec.${found}`
}
