/** Letters and digits that form no words, as in Kubernetes' hashes in names. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/**
 * A short hash of a template, independent of the order of its fields. `collisions` gives the same template another one.
 */
export function templateHash(template: unknown, collisions = 0): string {
  const text = canonical(template) + (collisions > 0 ? `#${collisions}` : '')
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return Array.from(String(hash), (digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('')
}

/** JSON with sorted fields; undefined ones are left out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${fields.map(([field, inner]) => `${JSON.stringify(field)}:${canonical(inner)}`).join(',')}}`
}
