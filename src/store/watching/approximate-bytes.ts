/** Quotes, a colon and a comma. */
const punctuation = 4

/** Roughly how long the JSON of a value is, without encoding it: for bounds only. */
export function approximateBytes(value: unknown): number {
  if (typeof value === 'string') return value.length + punctuation
  if (typeof value !== 'object' || value === null) return punctuation
  let bytes = punctuation
  if (Array.isArray(value)) {
    for (const item of value) bytes += approximateBytes(item)
    return bytes
  }
  for (const [field, inner] of Object.entries(value)) bytes += field.length + punctuation + approximateBytes(inner)
  return bytes
}
