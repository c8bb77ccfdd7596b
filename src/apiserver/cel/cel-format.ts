/** `'%s has %d'.format([…])`, with the clauses of the language's strings extension. */
export function formatText(template: string, values: readonly unknown[]): string {
  let next = 0
  const text = template.replaceAll(
    /%(?:%|(?:\.(\d{1,3}))?([sdfebxXo]))?/g,
    (clause, precision?: string, verb?: string) => {
      if (clause === '%%') return '%'
      if (verb === undefined) throw new TypeError(`unrecognized formatting clause: ${clause}`)
      if (next >= values.length) throw new RangeError(`index ${next} out of range`)
      return formatValue(values[next++], verb, precision === undefined ? 6 : Number(precision))
    },
  )
  return text
}

function formatValue(value: unknown, verb: string, precision: number): string {
  switch (verb) {
    case 's':
      return textOf(value)
    case 'd':
      return String(numberOf(value))
    case 'f':
      return Number(numberOf(value)).toFixed(precision)
    case 'e':
      return Number(numberOf(value)).toExponential(precision)
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : numberOf(value).toString(2)
    case 'o':
      return numberOf(value).toString(8)
    default: {
      const hex = typeof value === 'string' ? Buffer.from(value).toString('hex') : numberOf(value).toString(16)
      return verb === 'X' ? hex.toUpperCase() : hex
    }
  }
}

function numberOf(value: unknown): number | bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  throw new TypeError('only a number can be formatted so')
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return `[${value.map((item) => quoted(item)).join(', ')}]`
  if (value instanceof Map) {
    const entries = [...value].map(([key, inner]): [string, string] => [quoted(key), quoted(inner)])
    return `{${entries.map(([key, inner]) => `${key}: ${inner}`).join(', ')}}`
  }
  if (value instanceof Date) return value.toISOString().replace('.000Z', 'Z')
  return String(value)
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : textOf(value)
}
