/** The outcome of a slow start. */
export interface SlowStart {
  readonly succeeded: number
  /** Not begun, because an earlier one failed. */
  readonly skipped: number
  readonly failure: unknown
}

/** As many as take some ten milliseconds in the same process. */
const mostAtOnce = 32

/**
 * Does `act` for every item: for one first, then for twice as many at a time, as long as all of them work. What cannot
 * work, such as Pods over a quota, then fails once or twice instead of a thousand times.
 */
export async function slowStart<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<SlowStart> {
  let succeeded = 0
  let left = items.length
  for (let size = Math.min(1, left); size > 0; size = Math.min(size * 2, left, mostAtOnce)) {
    const begun = items.length - left
    const outcomes = await Promise.allSettled(items.slice(begun, begun + size).map(act))
    left -= size
    const failed = outcomes.filter(({ status }) => status === 'rejected')
    succeeded += size - failed.length
    const [first] = failed
    // A cluster in the same process does all this without ever waiting, so others get their turn now.
    if (size === mostAtOnce) await new Promise<void>((resolve) => setImmediate(resolve))
    if (first?.status === 'rejected') return { succeeded, skipped: left, failure: first.reason }
  }
  return { succeeded, skipped: 0, failure: undefined }
}
