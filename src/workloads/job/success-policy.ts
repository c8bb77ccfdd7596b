import type { Job } from '../../resources/job.ts'
import { parseIndexes } from './completion-indexes.ts'

/** The rule by which the succeeded indexes are enough; `undefined` as long as there is none. */
export function matchSuccess({ spec }: Job, completed: ReadonlySet<number>): number | undefined {
  const found = (spec.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && completed.size >= succeededCount
    const wanted = parseIndexes(succeededIndexes, spec.completions ?? 0)
    const reached = [...wanted].filter((index) => completed.has(index)).length
    return reached >= (succeededCount ?? wanted.size)
  })
  return found < 0 ? undefined : found
}
