import type { Model } from '../../resources/model.ts'
import type { EngineGroup } from '../engines/engine.ts'
import { type GroupPlaceholderValues, type PlaceholderValues, fillIn } from '../engines/placeholders.ts'

/** What a member of a group is told about its place in it. */
export interface MemberPlace {
  readonly rank: number
  readonly size: number
  /** The name at which the other members find the leader. */
  readonly leader: string
}

/** What the words in braces of an engine stand for at one member of a group. */
export type MemberWords = PlaceholderValues & GroupPlaceholderValues

export function memberWords(words: PlaceholderValues, { rank, size, leader }: MemberPlace): MemberWords {
  return { ...words, groupRank: String(rank), groupSize: String(size), groupLeader: leader }
}

/** The arguments of a member: those of a Pod that is alone, and what the engine's members get in addition. */
export function memberArguments(
  { spec }: Model,
  alone: readonly string[],
  { args = [], workerArgs = [], unless = [] }: EngineGroup,
  words: MemberWords,
): readonly string[] {
  const own = spec.args ?? []
  const templates = words.groupRank === '0' ? args : [...args, ...workerArgs]
  const flags = templates.map((template) => fillIn(template, words))
  // The Model's own arguments come last, so that they win; here they stay last.
  const end = alone.length - own.length
  const added = meetsByItself(own, flags, unless) ? [] : flags
  return [...alone.slice(0, end), ...added, ...alone.slice(end)]
}

/**
 * Whether the Model says itself how its members meet, with Ray for example: then no flags are in its way. Repeating
 * what the engine's entry says is no other way.
 */
function meetsByItself(own: readonly string[], flags: readonly string[], unless: readonly string[]): boolean {
  return unless.some((flag) => {
    const said = valueOf(flag, own)
    return said !== undefined && said !== valueOf(flag, flags)
  })
}

/** The value of a flag, written as one argument or as two; the last one counts. Empty if it has none. */
function valueOf(flag: string, args: readonly string[]): string | undefined {
  const at = args.findLastIndex((argument) => argument === flag || argument.startsWith(`${flag}=`))
  const found = args[at]
  if (found === undefined) return undefined
  return found === flag ? (args[at + 1] ?? '') : found.slice(flag.length + 1)
}
