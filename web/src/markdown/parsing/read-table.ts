import type { Alignment } from './markdown-tree.ts'

export interface TableLines {
  header: string[]
  /** One for each column; undefined where the table does not say. */
  alignments: Array<Alignment | undefined>
  rows: Array<{ cells: string[]; source: string }>
}

const RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/

/** Whether a table begins at this line: a row, and a rule with as many columns below it. */
export function startsTable(lines: readonly string[], at: number): boolean {
  const head = lines[at] ?? ''
  const rule = lines[at + 1] ?? ''
  if (!head.includes('|') || !rule.includes('|') || !RULE.test(rule)) return false
  return cellsOf(head).length === cellsOf(rule).length
}

export function readTable(lines: readonly string[], at: number): { table: TableLines; next: number } | undefined {
  if (!startsTable(lines, at)) return undefined
  const header = cellsOf(lines[at] ?? '')
  let next = at + 2
  while (next < lines.length && (lines[next] ?? '').includes('|')) next++
  const rows = lines.slice(at + 2, next).map((source) => {
    const row = cellsOf(source)
    return { cells: header.map((_, column) => row[column] ?? ''), source }
  })
  return { table: { header, alignments: cellsOf(lines[at + 1] ?? '').map(alignmentOf), rows }, next }
}

function alignmentOf(rule: string): Alignment | undefined {
  if (rule.endsWith(':')) return rule.startsWith(':') ? 'center' : 'right'
  return rule.startsWith(':') ? 'left' : undefined
}

function cellsOf(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}
