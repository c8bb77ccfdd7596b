import { isIPv4, isIPv6 } from 'node:net'

const hex = '[0-9a-fA-F]'
const uuid = (version: string, variant: string) =>
  matching(new RegExp(`^${hex}{8}-?${hex}{4}-?${version}${hex}{3}-?${variant}${hex}{3}-?${hex}{12}$`))
const dateTime = /^\d{4}-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/
const goDuration = /^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/
const wordyDuration =
  /^\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/

/** The formats of strings that the API server checks. All others are only informative. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': isDateTime,
  datetime: isDateTime,
  date: isDate,
  duration: (text) => text === '0' || goDuration.test(text) || wordyDuration.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  cidr: isCidr,
  mac: matching(new RegExp(`^(${hex}{2}([:-]))(${hex}{2}\\2){4,6}${hex}{2}$`)),
  uri: isUri,
  email: matching(/^[^\s@<>()[\],;:\\"]+@[^\s@<>()[\],;:\\"]+$/),
  hostname: isHostname,
  uuid: uuid(hex, hex),
  uuid3: uuid('3', hex),
  uuid4: uuid('4', '[89abAB]'),
  uuid5: uuid('5', '[89abAB]'),
  byte: matching(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  bsonobjectid: matching(new RegExp(`^${hex}{24}$`)),
  hexcolor: matching(new RegExp(`^#?(${hex}{3}|${hex}{6})$`)),
  rgbcolor: matching(/^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/),
  ssn: matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: matching(
    /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d{2})\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/,
  ),
  'k8s-short-name': matching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
  'k8s-long-name': (text) =>
    text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
}

const longestFormatted = 64 * 1024

/** Unknown formats are not checked. */
export function hasFormat(format: string, text: string): boolean {
  const check = Object.hasOwn(formats, format) ? formats[format] : undefined
  return !check || (text.length <= longestFormatted && check(text))
}

function matching(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text)
}

/** RFC 3339. */
export function isDateTime(text: string): boolean {
  const parts = dateTime.exec(text)
  if (!parts) return false
  const [, , , hours, minutes, seconds] = parts.map(Number)
  return isDate(text.slice(0, 10)) && (hours ?? 99) < 24 && (minutes ?? 99) < 60 && (seconds ?? 99) < 60
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))]
  return day >= 1 && day <= daysOf(year, month)
}

const daysOfMonths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function daysOf(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month === 2 && isLeap ? 29 : (daysOfMonths[month - 1] ?? 0)
}

function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/')
  const [address, bits] = [text.slice(0, Math.max(slash, 0)), text.slice(slash + 1)]
  if (slash < 0 || !/^\d{1,3}$/.test(bits) || String(Number(bits)) !== bits) return false
  return isIPv4(address) ? Number(bits) <= 32 : isIPv6(address) && Number(bits) <= 128
}

function isUri(text: string): boolean {
  if (!/^([A-Za-z][-A-Za-z0-9+.]*:|\/)/.test(text)) return false
  return !/[\s\p{Cc}]/u.test(text) && !/%(?![0-9A-Fa-f]{2})/.test(text)
}

function isHostname(text: string): boolean {
  const labels = text.split('.')
  if (text.length > 255 || labels.some((label) => label.length > 63)) return false
  if (labels.length > 1 && !/^[a-zA-Z\p{L}]{2,63}$/u.test(labels.at(-1) ?? '')) return false
  return labels.every((label) => /^[a-zA-Z0-9\p{S}\p{L}]([-a-zA-Z0-9\p{S}\p{L}]*[a-zA-Z0-9\p{S}\p{L}])?$/u.test(label))
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = Array.from(digits).reduce(
    (total, digit, index) => total + (10 - index) * (digit === 'X' ? 10 : Number(digit)),
    0,
  )
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  return (
    Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0
  )
}
