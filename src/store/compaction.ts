/**
 * Up to which revision history may go: at least the last `limit` events stay. It is cut in large steps, because cutting a
 * little after every write would cost more than it saves.
 */
export function compactionPoint(revision: number, compactedRevision: number, limit: number): number {
  return revision - compactedRevision >= limit * 2 ? revision - limit : compactedRevision
}
