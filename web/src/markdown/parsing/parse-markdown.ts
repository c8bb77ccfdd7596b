import type { Block, BlockContent, ListItem } from './markdown-tree.ts'
import { parseInline } from './parse-inline.ts'
import { readList } from './read-list.ts'
import { readMath, startsMath } from './read-math.ts'
import { readTable, startsTable } from './read-table.ts'

const MAX_DEPTH = 6

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/
const QUOTE = /^ {0,3}> ?/
const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/
const TASK = /^\[([ xX])\][ \t]+/

/** Parses the part of Markdown that models write. Everything else, HTML above all, stays plain text. */
export function parseMarkdown(text: string): Block[] {
  return parseLines(withoutCarriageReturns(text).split('\n'), 0)
}

/** The same, with the line at which each block begins. The text has no carriage returns. */
export function parseWithPlaces(text: string): { blocks: Block[]; firstLines: number[]; lines: string[] } {
  const lines = text.split('\n')
  const firstLines: number[] = []
  const blocks = parseLines(lines, 0, firstLines)
  return { blocks, firstLines, lines }
}

export function withoutCarriageReturns(text: string): string {
  return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
}

interface Read {
  content: BlockContent
  next: number
}

function parseLines(lines: readonly string[], depth: number, firstLines: number[] = []): Block[] {
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      at++
      continue
    }
    const { content, next } = readSpecial(lines, at, depth) ?? readParagraph(lines, at)
    firstLines.push(at)
    blocks.push({ ...content, source: lines.slice(at, next).join('\n') })
    at = next
  }
  return blocks
}

function readSpecial(lines: readonly string[], at: number, depth: number): Read | undefined {
  const line = lines[at] ?? ''
  const heading = HEADING.exec(line)
  if (heading !== null) {
    const [, marks = '', text = ''] = heading
    return { content: { kind: 'heading', level: marks.length, children: parseInline(text) }, next: at + 1 }
  }
  if (RULE.test(line)) return { content: { kind: 'rule' }, next: at + 1 }
  const fenced = readFence(lines, at)
  if (fenced !== undefined) return fenced
  if (depth < MAX_DEPTH && QUOTE.test(line)) return readQuote(lines, at, depth)
  if (depth < MAX_DEPTH && LIST_ITEM.test(line)) {
    const { list, next } = readList(lines, at, startsBlock)
    const items = list.items.map((item) => parseItem(item, depth + 1))
    return { content: { kind: 'list', ordered: list.ordered, start: list.start, items }, next }
  }
  return readFormula(lines, at) ?? readParsedTable(lines, at)
}

function parseItem(lines: readonly string[], depth: number): ListItem {
  const [first = '', ...rest] = lines
  const task = TASK.exec(first)
  if (task === null) return { done: undefined, blocks: parseLines(lines, depth) }
  return { done: task[1] !== ' ', blocks: parseLines([first.slice(task[0].length), ...rest], depth) }
}

/** A formula without its end is shown as it was written. */
function readFormula(lines: readonly string[], at: number): Read | undefined {
  const found = readMath(lines, at)
  if (found === undefined) return undefined
  const { tex, next } = found
  if (tex !== undefined && tex !== '') return { content: { kind: 'math', tex }, next }
  return { content: { kind: 'paragraph', children: [{ kind: 'text', text: lines.slice(at, next).join('\n') }] }, next }
}

function readFence(lines: readonly string[], at: number): Read | undefined {
  const match = FENCE.exec(lines[at] ?? '')
  if (match === null) return undefined
  const [, indent = '', fence = '', language = ''] = match
  const closing = new RegExp(`^ {0,3}\\${fence[0]}{${fence.length},}[ \\t]*$`)
  const unindent = new RegExp(`^ {0,${indent.length}}`)
  let end = at + 1
  while (end < lines.length && !closing.test(lines[end] ?? '')) end++
  const text = lines.slice(at + 1, end).map((line) => line.replace(unindent, ''))
  // A block without a closing fence is still being written, and is shown as code from its first line on.
  return { content: { kind: 'code', language, text: text.join('\n') }, next: Math.min(end + 1, lines.length) }
}

function readQuote(lines: readonly string[], at: number, depth: number): Read {
  let end = at
  while (end < lines.length && QUOTE.test(lines[end] ?? '')) end++
  const inside = lines.slice(at, end).map((line) => line.replace(QUOTE, ''))
  return { content: { kind: 'quote', children: parseLines(inside, depth + 1) }, next: end }
}

function readParsedTable(lines: readonly string[], at: number): Read | undefined {
  const found = readTable(lines, at)
  if (found === undefined) return undefined
  const { header, alignments, rows } = found.table
  const parsed = (cells: readonly string[]) => cells.map((cell) => parseInline(cell))
  const parsedRows = rows.map(({ cells, source }) => ({ cells: parsed(cells), source }))
  return { content: { kind: 'table', header: parsed(header), alignments, rows: parsedRows }, next: found.next }
}

function readParagraph(lines: readonly string[], at: number): Read {
  let end = at + 1
  const goesOn = () => (lines[end] ?? '').trim() !== '' && !startsBlock(lines[end] ?? '') && !startsTable(lines, end)
  while (end < lines.length && goesOn()) end++
  const text = lines.slice(at, end).map((line) => line.trim())
  return { content: { kind: 'paragraph', children: parseInline(text.join('\n')) }, next: end }
}

function startsBlock(line: string): boolean {
  return (
    HEADING.test(line) ||
    RULE.test(line) ||
    FENCE.test(line) ||
    QUOTE.test(line) ||
    LIST_ITEM.test(line) ||
    startsMath(line)
  )
}
