import type { Sequence } from '../native/sequence.ts'

/** What takes seconds to compute again is left to whoever may go on with it, while there is another place. */
const worthKeeping = 512

interface Rated<Slot> {
  readonly slot: Slot
  /** Tokens that need not be computed for this prompt. */
  readonly shared: number
  readonly held: number
  readonly usedAt: number
  readonly id: number
}

/**
 * Chooses among idle sequences for a prompt. The one that has the longest beginning in common with it, unless that is
 * little beside what would be lost of a long conversation. Among equals the one with the fewest tokens, so that the
 * others keep what they have computed; then the first, because sequences without gaps between them are computed in one
 * go. If all have long conversations, the one that was left alone for longest.
 */
export function chooseSequence<
  Slot extends { readonly sequence: Pick<Sequence, 'id' | 'usedAt' | 'tokens' | 'sharedWith'> },
>(idle: readonly Slot[], prompt: Parameters<Sequence['sharedWith']>[0]): Slot | undefined {
  const rated = idle.map((slot): Rated<Slot> => {
    const { id = Infinity, usedAt, tokens } = slot.sequence
    return { slot, shared: slot.sequence.sharedWith(prompt), held: tokens.length, usedAt, id }
  })
  const cheap = rated.filter((one) => !isLongConversation(one))
  const [best] =
    cheap.length > 0
      ? cheap.sort((a, b) => b.shared - a.shared || a.held - b.held || a.id - b.id)
      : rated.sort((a, b) => a.usedAt - b.usedAt)
  return best?.slot
}

/** Of something else: an answer that is asked for once more is no loss beside what stays. */
function isLongConversation({ shared, held }: Rated<unknown>): boolean {
  const lost = held - shared
  return lost >= worthKeeping && lost > shared
}
