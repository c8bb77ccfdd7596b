import { unreachable } from '../unreachable.ts'
import { element } from '../view/element.ts'
import { CodeView } from './code-view.ts'
import { drawInline } from './inline-view.ts'
import type { Block, ListItem } from './parsing/markdown-tree.ts'
import { drawMath } from './math-view.ts'
import { TableView } from './table-view.ts'
import { updateChildren } from './update-children.ts'

type ListBlock = Extract<Block, { kind: 'list' }>

/** A drawn block, which follows its text as that grows, with as few changes to the page as that takes. */
export class BlockView {
  #block: Block
  #node: HTMLElement
  #code: CodeView | undefined
  #table: TableView | undefined

  constructor(block: Block, isComplete: boolean) {
    this.#block = block
    this.#node = this.#draw(block, isComplete)
  }

  get element(): HTMLElement {
    return this.#node
  }

  /** `isComplete`: nothing will be added to it. */
  update(block: Block, isComplete: boolean): void {
    const before = this.#block
    this.#block = block
    if (this.#code !== undefined && block.kind === 'code' && block.language === this.#code.language) {
      this.#code.update(block.text, isComplete)
      return
    }
    if (before.kind === block.kind && before.source === block.source) return
    if (this.#table !== undefined && block.kind === 'table' && this.#table.isOf(block)) {
      this.#table.update(block)
      return
    }
    if (before.kind === 'list' && block.kind === 'list' && isSameList(before, block)) {
      const isDrawn = (item: ListItem, index: number) => itemSource(before.items[index]) === itemSource(item)
      updateChildren(this.#node, block.items, isDrawn, drawItem)
      return
    }
    this.#code = undefined
    this.#table = undefined
    const node = this.#draw(block, isComplete)
    this.#node.replaceWith(node)
    this.#node = node
  }

  #draw(block: Block, isComplete: boolean): HTMLElement {
    if (block.kind === 'table') {
      this.#table = new TableView(block)
      return this.#table.element
    }
    if (block.kind !== 'code') return drawBlock(block)
    this.#code = new CodeView(block.language)
    this.#code.update(block.text, isComplete)
    return this.#code.element
  }
}

function drawBlock(block: Block): HTMLElement {
  switch (block.kind) {
    case 'paragraph':
      return element('p', {}, ...drawInline(block.children))
    case 'heading':
      // The first levels of headings belong to the page itself; those of an answer start below.
      return element(block.level < 2 ? 'h3' : block.level < 3 ? 'h4' : 'h5', {}, ...drawInline(block.children))
    case 'code':
      // One inside a list or a quote: it is drawn again with what is around it.
      return new BlockView(block, true).element
    case 'list': {
      const items = block.items.map(drawItem)
      if (!block.ordered) return element('ul', {}, ...items)
      return element('ol', { start: block.start === 1 ? undefined : String(block.start) }, ...items)
    }
    case 'quote':
      return element('blockquote', {}, ...block.children.map(drawBlock))
    case 'table':
      return new TableView(block).element
    case 'math':
      return element('p', {}, drawMath(block.tex, true))
    case 'rule':
      return element('hr')
    default:
      return unreachable(block)
  }
}

function isSameList(one: ListBlock, other: ListBlock): boolean {
  return one.ordered === other.ordered && one.start === other.start
}

function itemSource(item: ListItem | undefined): string {
  return item === undefined ? '' : JSON.stringify([item.done ?? null, item.blocks.map(({ source }) => source)])
}

function drawItem({ done, blocks }: ListItem): HTMLElement {
  // A list item of one paragraph is drawn without the margins of a paragraph.
  const content = blocks.flatMap((block, index) =>
    index === 0 && block.kind === 'paragraph' ? drawInline(block.children) : [drawBlock(block)],
  )
  if (done === undefined) return element('li', {}, ...content)
  const box = element('input', {
    type: 'checkbox',
    checked: done,
    disabled: true,
    'aria-label': done ? 'Done' : 'To do',
  })
  return element('li', { class: 'task' }, box, ...content)
}
