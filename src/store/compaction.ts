const largestStep = 1_000

/**
 * Up to which revision history may be forgotten, so that at least the last `limit` events stay. History is cut in
 * steps: cutting after every write would cost more than it saves, and cutting all at once would keep everybody waiting.
 */
export function compactionPoint(revision: number, compactedRevision: number, limit: number): number {
  const step = Math.min(limit, largestStep)
  return revision - compactedRevision >= limit + step ? revision - limit : compactedRevision
}
