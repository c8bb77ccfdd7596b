/** The labels of a name, first to last; each character is a byte (latin1), in its original case. The root has none. */
export type DomainName = readonly string[]

export const mostNameBytes = 255
export const mostLabelBytes = 63

/** `undefined` if the text cannot be a name on the wire. A trailing dot changes nothing. */
export function nameOf(text: string): DomainName | undefined {
  const whole = text.endsWith('.') ? text.slice(0, -1) : text
  if (whole === '') return []
  const labels = whole.split('.')
  const fits = labels.every((label) => label.length > 0 && label.length <= mostLabelBytes && isLatin1(label))
  return fits && wireLength(labels) <= mostNameBytes ? labels : undefined
}

/** The length in bytes without compression, including the final zero. */
export function wireLength(name: DomainName): number {
  let length = 1
  for (const label of name) length += 1 + label.length
  return length
}

/** Equal for names that differ only in case; a dot inside a label is not a separator. */
export function nameKey(name: DomainName): string {
  let key = ''
  for (const label of name) key += String.fromCharCode(label.length) + lowered(label)
  return key
}

export function sameName(one: DomainName, other: DomainName): boolean {
  return one.length === other.length && one.every((label, at) => lowered(label) === lowered(other[at] ?? ''))
}

/** Whether a name is the zone's own or below it. */
export function isWithin(name: DomainName, zone: DomainName): boolean {
  return name.length >= zone.length && sameName(name.slice(name.length - zone.length), zone)
}

/** In DNS, only ASCII letters have two cases. */
export function lowered(label: string): string {
  return /[A-Z]/.test(label) ? label.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : label
}

function isLatin1(label: string): boolean {
  for (let at = 0; at < label.length; at++) if (label.charCodeAt(at) > 0xff) return false
  return true
}
