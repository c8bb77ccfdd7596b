export interface ListLines {
  ordered: boolean
  start: number
  /** The lines of each item, without marker and indent. */
  items: string[][]
}

const MARKER = /^( {0,3})([-*+]|(\d{1,9})[.)])([ \t]+|$)(.*)$/

/** Reads the items of a list. Models indent nested items by two, three or four spaces; all of these are accepted. */
export function readList(
  lines: readonly string[],
  at: number,
  startsBlock: (line: string) => boolean,
): { list: ListLines; next: number } {
  const first = MARKER.exec(lines[at] ?? '')
  const ordered = first?.[3] !== undefined
  const list: ListLines = { ordered, start: ordered ? Number(first?.[3]) : 1, items: [] }
  let next = at
  while (next < lines.length) {
    const match = MARKER.exec(lines[next] ?? '')
    if (match === null || (match[3] !== undefined) !== ordered) break
    const item = readItem(lines, next, match, startsBlock)
    list.items.push(item.lines)
    next = item.next
  }
  return { list, next: withoutTrailingBlanks(lines, at, next) }
}

function readItem(
  lines: readonly string[],
  at: number,
  match: RegExpExecArray,
  startsBlock: (line: string) => boolean,
): { lines: string[]; next: number } {
  const [, indent = '', marker = '', , gap = '', text = ''] = match
  const contentIndent = indent.length + marker.length + Math.min(gap.length || 1, 4)
  const needed = indent.length + 2
  const item = [text]
  let next = at + 1
  let blank = false
  while (next < lines.length) {
    const line = lines[next] ?? ''
    if (line.trim() === '') {
      blank = true
      item.push('')
    } else if (indentOf(line) >= needed) {
      item.push(line.slice(Math.min(indentOf(line), contentIndent)))
      blank = false
    } else if (!blank && !startsBlock(line)) {
      // A line without indentation still belongs to the item's paragraph.
      item.push(line.trim())
    } else {
      break
    }
    next++
  }
  while (item.length > 1 && item.at(-1) === '') item.pop()
  return { lines: item, next }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function withoutTrailingBlanks(lines: readonly string[], at: number, next: number): number {
  let end = next
  while (end > at + 1 && (lines[end - 1] ?? '').trim() === '') end--
  return end
}
