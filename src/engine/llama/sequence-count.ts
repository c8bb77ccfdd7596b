/** Requests that compute together unless `--max-num-seqs` says otherwise: beyond this a CPU gains little more. */
export const usualSequences = 8
/** The share of the free memory that the contexts of those requests may take. */
const memoryShare = 0.25

/** As many sequences as memory allows, at most the usual number: each keeps a whole context ready. */
export function decideSequences(input: {
  readonly asked: number | undefined
  readonly bytesPerSequence: number
  readonly availableBytes: number
}): number {
  const { asked, bytesPerSequence, availableBytes } = input
  if (asked !== undefined) return asked
  const fitting = Math.floor((availableBytes * memoryShare) / Math.max(1, bytesPerSequence))
  return Math.max(1, Math.min(usualSequences, fitting))
}
