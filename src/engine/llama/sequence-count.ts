/** How many requests are computed together unless `--max-num-seqs` says otherwise. With more, a CPU gains little. */
export const usualSequences = 8
/** The share of the free memory that the contexts of these requests may take. */
const memoryShare = 0.25

/** As many sequences as memory allows, up to the usual number; each keeps memory for a whole context. */
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
