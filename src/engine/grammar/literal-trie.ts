/**
 * llama.cpp follows every alternative of a grammar that still fits, for every token of the vocabulary: of 8,000
 * alternatives one token took 2 s. Written as a tree of what they have in common, only those that differ in the next
 * character are alternatives to each other, and the same token takes 7 ms.
 */
export interface LiteralRules {
  /** What stands for one of the texts in another rule. */
  readonly expression: string
  readonly rules: readonly string[]
  /** How many ways to go on there are at most in one place. */
  readonly widest: number
}

export function literalRules(texts: readonly string[], namePrefix: string): LiteralRules {
  const sorted = [...new Set(texts)].toSorted((a, b) => (a < b ? -1 : 1))
  const rules: string[] = []
  let widest = 0

  /** The texts from `first` up to `end`, which are alike up to `at`. */
  const expressionOf = (first: number, end: number, at: number): string => {
    const start = sorted[first] ?? ''
    if (end - first === 1) return quoteLiteral(start.slice(at))
    const shared = sharedLength(start, sorted[end - 1] ?? '', at)
    const alternatives: string[] = []
    for (let from = first; from < end;) {
      const to = endOfGroup(sorted, from, end, shared)
      alternatives.push(expressionOf(from, to, shared))
      from = to
    }
    widest = Math.max(widest, alternatives.length)
    const name = `${namePrefix}-${rules.length}`
    rules.push(`${name} ::= ${alternatives.join(' | ')}`)
    return shared === at ? name : `${quoteLiteral(start.slice(at, shared))} ${name}`
  }

  const expression = sorted.length === 0 ? '""' : expressionOf(0, sorted.length, 0)
  return { expression, rules, widest }
}

/** How far two texts are alike; between the first and the last of a sorted list that holds for all of them. */
function sharedLength(one: string, other: string, from: number): number {
  let length = from
  while (length < one.length && one[length] === other[length]) length += 1
  // A character is never cut into its two halves.
  const cut = isLowSurrogate(one.charCodeAt(length)) || isLowSurrogate(other.charCodeAt(length))
  return cut && length > from && isHighSurrogate(one.charCodeAt(length - 1)) ? length - 1 : length
}

/** Where the texts end that go on like the one at `from`. One that ends here stands alone. */
function endOfGroup(sorted: readonly string[], from: number, end: number, at: number): number {
  const next = sorted[from]?.codePointAt(at)
  let to = from + 1
  if (next === undefined) return to
  while (to < end && sorted[to]?.codePointAt(at) === next) to += 1
  return to
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** A text as grammars write it down. */
export function quoteLiteral(text: string): string {
  return `"${text.replaceAll(/["\\\n\r\t]/g, (found) => escapes[found] ?? found)}"`
}

const escapes: Readonly<Record<string, string>> = {
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
}
