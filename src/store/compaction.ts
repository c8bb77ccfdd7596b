const largestStep = 1_000

/**
 * Up to which revision history may go: at least the last `limit` events stay. It is cut in steps: after every write
 * would cost more than it saves, and all at once would keep everybody waiting.
 */
export function compactionPoint(revision: number, compactedRevision: number, limit: number): number {
  const step = Math.min(limit, largestStep)
  return revision - compactedRevision >= limit + step ? revision - limit : compactedRevision
}
