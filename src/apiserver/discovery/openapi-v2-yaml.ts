/** Plain words that YAML 1.1 readers, such as Go's, take for something other than text. */
const words = new Set(['y', 'n', 'yes', 'no', 'on', 'off', 'true', 'false', 'null'])
const plain = /^[A-Za-z_][\w./-]*$/
/** Characters that are valid in JSON strings but not in YAML. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const unprintable = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g

/** A JSON value as YAML text, which is how the protobuf encoding holds it. */
export function yamlText(value: unknown): string {
  return `${block(value, '').trimStart()}\n`
}

/** Begins with a line break if it spans several lines. */
function block(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    const items: readonly unknown[] = value
    return items.map((item) => `\n${indent}- ${block(item, `${indent}  `).trimStart()}`).join('')
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    if (entries.length === 0) return '{}'
    return entries
      .map(([name, inner]) => {
        const text = block(inner, `${indent}    `)
        return `\n${indent}${scalar(name)}:${text.startsWith('\n') ? '' : ' '}${text}`
      })
      .join('')
  }
  return scalar(value)
}

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  if (plain.test(value) && !words.has(value.toLowerCase())) return value
  return JSON.stringify(value.toWellFormed()).replaceAll(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
