/** Which characters (code points) are accepted at a place in an expression. */
export type CharacterSet = (codePoint: number) => boolean

export type Range = readonly [from: number, to: number]

const digit: readonly Range[] = [[0x30, 0x39]]
const upper: readonly Range[] = [[0x41, 0x5a]]
const lower: readonly Range[] = [[0x61, 0x7a]]
const word: readonly Range[] = [...digit, ...upper, [0x5f, 0x5f], ...lower]
const space: readonly Range[] = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
]

/** `\d`, `\s` and `\w`: ASCII only, as in RE2. */
export const perlClasses: Readonly<Record<string, readonly Range[]>> = { d: digit, s: space, w: word }

/** `[[:alpha:]]` and the like. */
export const posixClasses: Readonly<Record<string, readonly Range[]>> = {
  alnum: [...digit, ...upper, ...lower],
  alpha: [...upper, ...lower],
  ascii: [[0, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  digit,
  graph: [[0x21, 0x7e]],
  lower,
  print: [[0x20, 0x7e]],
  punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  space: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  upper,
  word,
  xdigit: [...digit, [0x41, 0x46], [0x61, 0x66]],
}

export function inRanges(ranges: readonly Range[]): CharacterSet {
  return (codePoint) => ranges.some(([from, to]) => codePoint >= from && codePoint <= to)
}

export function not(set: CharacterSet): CharacterSet {
  return (codePoint) => !set(codePoint)
}

export function anyOf(sets: readonly CharacterSet[]): CharacterSet {
  const [only] = sets
  if (only && sets.length === 1) return only
  return (codePoint) => sets.some((set) => set(codePoint))
}

export function ignoringCase(set: CharacterSet): CharacterSet {
  return (codePoint) => {
    if (set(codePoint)) return true
    const text = String.fromCodePoint(codePoint)
    return hasOne(set, text.toLowerCase()) || hasOne(set, text.toUpperCase())
  }
}

/** Only single code points count: 'ß' in upper case is two. */
function hasOne(set: CharacterSet, text: string): boolean {
  const codePoint = text.codePointAt(0) ?? 0
  return text.length === (codePoint > 0xffff ? 2 : 1) && set(codePoint)
}

/** `\p{Greek}`, `\pL`: general categories and scripts. Undefined when the name is unknown. */
export function unicodeClass(name: string): CharacterSet | undefined {
  if (!/^[A-Za-z_]{1,40}$/.test(name)) return undefined
  if (name === 'Any') return () => true
  for (const property of [`gc=${name}`, `sc=${name}`]) {
    try {
      const pattern = new RegExp(`^\\p{${property}}$`, 'u')
      return (codePoint) => pattern.test(String.fromCodePoint(codePoint))
    } catch {
      // Not a category; it may be a script.
    }
  }
  return undefined
}
