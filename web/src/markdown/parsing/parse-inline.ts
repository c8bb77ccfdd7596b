import { decodeEntities, entityAt } from './entities.ts'
import type { Inline } from './markdown-tree.ts'

const MAX_DEPTH = 6
/**
 * Longer text is not parsed: the search for closing marks is quadratic in the worst case, and such a paragraph is not
 * prose.
 */
const MAX_CHARACTERS = 10_000

const LINK = /\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)\)/y
const BARE_URL = /https?:\/\/[^\s<>()[\]"'`*]{1,2000}/y
const SPECIAL = /[\\`*_~[\nh&$]/g
const WORD = /[\p{L}\p{N}]/u

export function parseInline(text: string, depth = 0): Inline[] {
  if (depth > MAX_DEPTH || text.length > MAX_CHARACTERS) return [{ kind: 'text', text }]
  const nodes: Inline[] = []
  let plain = ''
  let at = 0
  const flush = () => {
    if (plain !== '') nodes.push({ kind: 'text', text: plain })
    plain = ''
  }
  while (at < text.length) {
    SPECIAL.lastIndex = at
    const next = SPECIAL.exec(text)?.index ?? text.length
    plain += text.slice(at, next)
    if (next === text.length) break
    at = next
    const found = math(text, at) ?? escaped(text, at) ?? construct(text, at, depth)
    if (found === undefined) {
      plain += text[at]
      at++
    } else if (typeof found.node === 'string') {
      plain += found.node
      at = found.end
    } else {
      flush()
      nodes.push(found.node)
      at = found.end
    }
  }
  flush()
  return nodes
}

interface Found {
  node: Inline | string
  end: number
}

function escaped(text: string, at: number): Found | undefined {
  const next = text[at + 1]
  return text[at] === '\\' && next !== undefined && /[!-/:-@[-`{-~]/.test(next)
    ? { node: next, end: at + 2 }
    : undefined
}

function construct(text: string, at: number, depth: number): Found | undefined {
  switch (text[at]) {
    case '\n':
      return { node: { kind: 'break' }, end: at + 1 }
    case '`':
      return codeSpan(text, at)
    case '&':
      return entity(text, at)
    case '[':
      return link(text, at, depth)
    case 'h':
      return bareUrl(text, at)
    case '~':
      return delimited(text, at, '~~', 'strike', depth)
    case '*':
    case '_': {
      const mark = text[at] === '*' ? '*' : '_'
      return delimited(text, at, mark + mark, 'strong', depth) ?? delimited(text, at, mark, 'emphasis', depth)
    }
    default:
      return undefined
  }
}

function entity(text: string, at: number): Found | undefined {
  const found = entityAt(text, at)
  return found && { node: found.character, end: found.end }
}

/** `$…$` and `\\(…\\)` in a line, `$$…$$` and `\\[…\\]` on a line of their own. */
const DELIMITERS = [
  { open: '$$', close: '$$', isDisplay: true },
  { open: '\\[', close: '\\]', isDisplay: true },
  { open: '\\(', close: '\\)', isDisplay: false },
  { open: '$', close: '$', isDisplay: false },
] as const

function math(text: string, at: number): Found | undefined {
  const delimiter = DELIMITERS.find(({ open }) => text.startsWith(open, at))
  if (delimiter === undefined) return undefined
  const { open, close, isDisplay } = delimiter
  const from = at + open.length
  const end = text.indexOf(close, from)
  const tex = text.slice(from, end)
  if (end === -1 || tex.trim() === '' || (open === '$' && isMoney(tex, text[end + 1]))) return undefined
  return { node: { kind: 'math', tex: tex.trim(), isDisplay }, end: end + close.length }
}

/** Dollars are money more often than mathematics: “$5 and $10”, “$5–$10”. */
function isMoney(between: string, after: string | undefined): boolean {
  return isSpace(between[0]) || isSpace(between.at(-1)) || between.endsWith('\\') || /\d/.test(after ?? '')
}

function codeSpan(text: string, at: number): Found | undefined {
  let length = 1
  while (text[at + length] === '`') length++
  const fence = '`'.repeat(length)
  let close = text.indexOf(fence, at + length)
  while (close !== -1 && text[close + length] === '`') {
    let end = close + length
    while (text[end] === '`') end++
    close = text.indexOf(fence, end)
  }
  // The whole run is plain text: a shorter part of it must not begin a code span.
  if (close === -1) return { node: fence, end: at + length }
  const inside = text.slice(at + length, close).replaceAll('\n', ' ')
  const padded = inside.length > 2 && inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== ''
  return { node: { kind: 'code', text: padded ? inside.slice(1, -1) : inside }, end: close + length }
}

function delimited(
  text: string,
  at: number,
  mark: string,
  kind: 'strong' | 'emphasis' | 'strike',
  depth: number,
): Found | undefined {
  if (!text.startsWith(mark, at)) return undefined
  const from = at + mark.length
  const before = text[at - 1]
  // snake_case_names are not emphasis.
  if (mark.startsWith('_') && before !== undefined && WORD.test(before)) return undefined
  if (isSpace(text[from]) || (mark.length === 1 && text[from] === mark)) return undefined
  for (let close = text.indexOf(mark, from + 1); close !== -1; close = text.indexOf(mark, close + 1)) {
    if (mark.length === 1 && text[close + 1] === mark) {
      // Two marks belong to a strong part inside this one.
      close++
      continue
    }
    if (isSpace(text[close - 1]) || text[close - 1] === '\\') continue
    // In ***both***, the strong part ends with the last two of the three.
    if (mark.length === 2 && text[close + 2] === mark[0]) close++
    const after = text[close + mark.length]
    if (mark.startsWith('_') && after !== undefined && WORD.test(after)) continue
    return { node: { kind, children: parseInline(text.slice(from, close), depth + 1) }, end: close + mark.length }
  }
  return undefined
}

function link(text: string, at: number, depth: number): Found | undefined {
  LINK.lastIndex = at
  const match = LINK.exec(text)
  if (match === null) return undefined
  const [whole, label = '', target = ''] = match
  const href = safeHref(decodeEntities(target))
  if (href === undefined) return { node: label, end: at + whole.length }
  return { node: { kind: 'link', href, children: parseInline(label, depth + 1) }, end: at + whole.length }
}

function bareUrl(text: string, at: number): Found | undefined {
  const before = text[at - 1]
  if (before !== undefined && WORD.test(before)) return undefined
  BARE_URL.lastIndex = at
  const match = BARE_URL.exec(text)?.[0].replace(/[.,;:!?]+$/, '')
  const href = match === undefined ? undefined : safeHref(match)
  if (match === undefined || href === undefined) return undefined
  return { node: { kind: 'link', href, children: [{ kind: 'text', text: match }] }, end: at + match.length }
}

/** The target of a link, unless it could run something: what a model writes is not trusted. */
function safeHref(target: string): string | undefined {
  if (!URL.canParse(target)) return undefined
  const url = new URL(target)
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined
}

function isSpace(character: string | undefined): boolean {
  return character === undefined || /\s/.test(character)
}
