/** Letters and digits that make no words, as Kubernetes writes hashes in names. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/**
 * A short name for a template: the same for the same fields in whatever order. `collisions` gives the same template
 * another one.
 */
export function templateHash(template: unknown, collisions = 0): string {
  const text = canonical(template) + (collisions > 0 ? `#${collisions}` : '')
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return Array.from(String(hash), (digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('')
}

/** JSON with its fields in order; what is undefined is left out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${fields.map(([field, inner]) => `${JSON.stringify(field)}:${canonical(inner)}`).join(',')}}`
}
