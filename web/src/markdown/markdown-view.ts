import { copyButton } from '../view/copy-button.ts'
import { element } from '../view/element.ts'
import type { Block, Inline } from './markdown-tree.ts'
import { parseMarkdown } from './parse-markdown.ts'
import { unreachable } from '../unreachable.ts'

interface Drawn {
  block: Block
  node: HTMLElement
}

/**
 * Shows Markdown that may still be growing. Only changed blocks are drawn again, so that a selection in others is kept.
 */
export class MarkdownView {
  readonly element = element('div', { class: 'prose' })
  #text = ''
  #drawn: Drawn[] = []

  update(text: string): void {
    if (text === this.#text) return
    this.#text = text
    const blocks = parseMarkdown(text)
    const before = this.#drawn
    this.#drawn = blocks.map((block, index) => {
      const old = before[index]
      if (old === undefined) {
        const node = drawBlock(block)
        this.element.append(node)
        return { block, node }
      }
      const node = redraw(old, block)
      if (node !== old.node) old.node.replaceWith(node)
      return { block, node }
    })
    for (const { node } of before.slice(blocks.length)) node.remove()
  }
}

function redraw(old: Drawn, block: Block): HTMLElement {
  if (old.block.kind === block.kind && old.block.source === block.source) return old.node
  if (old.block.kind === 'code' && block.kind === 'code' && old.block.language === block.language) {
    // Growing code keeps its node, so that its copy button does not flicker and its scroll position is kept.
    const code = old.node.querySelector('code')
    if (code !== null) {
      code.textContent = block.text
      return old.node
    }
  }
  return drawBlock(block)
}

function drawBlock(block: Block): HTMLElement {
  switch (block.kind) {
    case 'paragraph':
      return element('p', {}, ...drawInline(block.children))
    case 'heading':
      // The first levels of headings belong to the page itself; those of an answer start below.
      return element(block.level < 2 ? 'h3' : block.level < 3 ? 'h4' : 'h5', {}, ...drawInline(block.children))
    case 'code':
      return drawCode(block.language, block.text)
    case 'list': {
      const items = block.items.map((item) => element('li', {}, ...drawItem(item)))
      if (!block.ordered) return element('ul', {}, ...items)
      return element('ol', { start: block.start === 1 ? undefined : String(block.start) }, ...items)
    }
    case 'quote':
      return element('blockquote', {}, ...block.children.map(drawBlock))
    case 'table':
      return drawTable(block.header, block.rows)
    case 'rule':
      return element('hr')
    default:
      return unreachable(block)
  }
}

/** A list item of one paragraph is drawn without the margins of a paragraph. */
function drawItem(item: readonly Block[]): Node[] {
  return item.flatMap((block, index) =>
    index === 0 && block.kind === 'paragraph' ? drawInline(block.children) : [drawBlock(block)],
  )
}

function drawCode(language: string, text: string): HTMLElement {
  const code = element('code', {}, text)
  return element(
    'figure',
    { class: 'code-block' },
    element(
      'figcaption',
      {},
      element('span', {}, language || 'text'),
      copyButton('Copy code', () => code.textContent ?? ''),
    ),
    // Focusable, because scrollable parts must be reachable with the keyboard.
    element('pre', { tabindex: '0', 'aria-label': language === '' ? 'Code' : `${language} code` }, code),
  )
}

function drawTable(header: readonly Inline[][], rows: readonly Inline[][][]): HTMLElement {
  const head = element('tr', {}, ...header.map((cell) => element('th', { scope: 'col' }, ...drawInline(cell))))
  const body = rows.map((row) => element('tr', {}, ...row.map((cell) => element('td', {}, ...drawInline(cell)))))
  const table = element('table', {}, element('thead', {}, head), element('tbody', {}, ...body))
  return element('div', { class: 'table-frame', tabindex: '0', role: 'group', 'aria-label': 'Table' }, table)
}

function drawInline(nodes: readonly Inline[]): Node[] {
  return nodes.map((node) => {
    switch (node.kind) {
      case 'text':
        return document.createTextNode(node.text)
      case 'code':
        return element('code', {}, node.text)
      case 'strong':
        return element('strong', {}, ...drawInline(node.children))
      case 'emphasis':
        return element('em', {}, ...drawInline(node.children))
      case 'strike':
        return element('s', {}, ...drawInline(node.children))
      case 'link':
        return element(
          'a',
          { href: node.href, target: '_blank', rel: 'noopener noreferrer nofollow' },
          ...drawInline(node.children),
        )
      case 'break':
        return element('br')
      default:
        return unreachable(node)
    }
  })
}
