import type { GrammarRule } from './grammar-rule.ts'

const fourDigits = '[0-9] [0-9] [0-9] [0-9]'
const leapYear =
  '(([0-9] [0-9] ("0" [48] | [2468] [048] | [13579] [26])) | (("0" [48] | [2468] [048] | [13579] [26] | "00") "00"))'
const date = `((${fourDigits} "-" (("0" [13578] | "1" [02]) "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8]))) | ${leapYear} "-02-29")`
const hours = '([01] [0-9] | "2" [0-3])'
const clockTime = `${hours} ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})?`
const offset = `("Z" | [\\x2B\\x2D] ${hours} ":" [0-5] [0-9])`
const label = '[A-Za-z0-9] ([A-Za-z0-9\\x2D]{0,30} [A-Za-z0-9])?'
const hostname = `${label} ("." ${label}){0,4}`
const mailWord = '[A-Za-z0-9\\x5F\\x2B\\x2D]{1,32}'
const hex = '[0-9a-f]'
const byte = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9] [0-9] | [0-9])'
const block = '[0-9a-f]{1,4}'
const urlCharacter = '[A-Za-z0-9\\x2D\\x2E\\x5F\\x7E\\x2F\\x3F\\x3D\\x26\\x25\\x2B\\x2C\\x3A\\x40\\x23]'

/** What each format looks like between the quotes, and how long it may become. What is allowed is never invalid. */
const formats: Readonly<Record<string, { readonly text: string; readonly fewest: number; readonly most: number }>> = {
  date: { text: date, fewest: 10, most: 10 },
  time: { text: `${clockTime} ${offset}`, fewest: 9, most: 21 },
  'date-time': { text: `${date} "T" ${clockTime} ${offset}`, fewest: 20, most: 32 },
  duration: {
    text: '"P" ([0-9]{1,3} "D" ("T" [0-9]{1,3} "H")? | "T" [0-9]{1,3} ("H" ([0-9]{1,3} "M")? | "M" | "S") | [0-9]{1,3} "W")',
    fewest: 3,
    most: 12,
  },
  email: {
    text: `${mailWord} ("." ${mailWord}){0,2} "@" (${label} "."){1,3} [A-Za-z]{2,10}`,
    fewest: 6,
    most: 212,
  },
  hostname: { text: hostname, fewest: 1, most: 164 },
  ipv4: { text: `${byte} "." ${byte} "." ${byte} "." ${byte}`, fewest: 7, most: 15 },
  ipv6: { text: `(${block} ":"){7} ${block}`, fewest: 15, most: 39 },
  uuid: {
    text: `${hex}{8} "-" ${hex}{4} "-" [1-8] ${hex}{3} "-" [89ab] ${hex}{3} "-" ${hex}{12}`,
    fewest: 36,
    most: 36,
  },
  uri: {
    text: `"http" "s"? "://" (${label} "."){1,3} [A-Za-z]{2,10} ("/" ${urlCharacter}{0,200})?`,
    fewest: 11,
    most: 320,
  },
}

/** Formats that say something about a value which its text does not show, so that any text has them. */
const withoutShape = new Set(['password', 'binary', 'byte', 'json-string', 'file-path', 'directory-path', 'path'])

/** A JSON text of this format; `any`: every text has it; undefined: the format is not known. */
export function formatRule(format: string): GrammarRule | 'any' | undefined {
  if (withoutShape.has(format)) return 'any'
  const name = format === 'url' ? 'uri' : format === 'guid' ? 'uuid' : format
  const known = Object.hasOwn(formats, name) ? formats[name] : undefined
  return known && { expression: `"\\"" ${known.text} "\\""`, fewest: known.fewest, most: known.most }
}

export const knownFormats: readonly string[] = [...Object.keys(formats), 'url', 'guid', ...withoutShape]
