/**
 * Grammar rules that allow exactly a list of texts, written as a tree of their common beginnings. llama.cpp follows
 * every alternative that still fits, for every token of the vocabulary: with 8,000 alternatives one token took 2 s. In
 * a tree, only texts that differ in the next character are alternatives to each other, and the same token takes 7 ms.
 */
export interface LiteralRules {
  /** Stands for one of the texts where another rule refers to it. */
  readonly expression: string
  readonly rules: readonly string[]
  /** The largest number of alternatives in one place. */
  readonly widest: number
}

export function literalRules(texts: readonly string[], namePrefix: string): LiteralRules {
  const sorted = [...new Set(texts)].toSorted((a, b) => (a < b ? -1 : 1))
  const rules: string[] = []
  let widest = 0

  /** Covers the texts from `first` up to `end`, which all begin with the same `at` characters. */
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

/**
 * How many characters two texts have in common. For the first and the last of a sorted list, all between have them as
 * well.
 */
function sharedLength(one: string, other: string, from: number): number {
  let length = from
  while (length < one.length && one[length] === other[length]) length += 1
  // Do not cut between the two halves of a surrogate pair.
  const cut = isLowSurrogate(one.charCodeAt(length)) || isLowSurrogate(other.charCodeAt(length))
  return cut && length > from && isHighSurrogate(one.charCodeAt(length - 1)) ? length - 1 : length
}

/**
 * The end of the group of texts that have the same next character as the one at `from`. A text that ends here is a
 * group of its own.
 */
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

/** A text as a string literal of a grammar. */
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
