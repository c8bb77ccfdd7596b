const OPENING = /^ {0,3}(\$\$|\\\[)(.*)$/
const CLOSERS: Readonly<Record<string, string>> = { $$: '$$', '\\[': '\\]' }

/** Whether the line begins a formula of its own: `$$` or `\[`, and no text after its end. */
export function startsMath(line: string): boolean {
  const [, opener = '', rest = ''] = OPENING.exec(line) ?? []
  const closer = CLOSERS[opener]
  if (closer === undefined) return false
  const end = rest.indexOf(closer)
  return end === -1 || rest.slice(end + closer.length).trim() === ''
}

/**
 * Reads a formula that has lines of its own. It ends at a blank line at the latest, as in TeX. `tex` is undefined if it
 * has no end, which may still be on its way.
 */
export function readMath(lines: readonly string[], at: number): { tex: string | undefined; next: number } | undefined {
  const line = lines[at] ?? ''
  if (!startsMath(line)) return undefined
  const [, opener = '', first = ''] = OPENING.exec(line) ?? []
  const closer = CLOSERS[opener] ?? ''
  const tex: string[] = []
  for (let next = at; next < lines.length; next++) {
    const text = next === at ? first : (lines[next] ?? '')
    if (text.trim() === '' && next > at) return { tex: undefined, next }
    const end = text.trimEnd()
    if (end.endsWith(closer)) return { tex: [...tex, end.slice(0, -closer.length)].join('\n').trim(), next: next + 1 }
    tex.push(text)
  }
  return { tex: undefined, next: lines.length }
}
