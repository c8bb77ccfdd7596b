import { element } from '../view/element.ts'
import { drawInline } from './inline-view.ts'
import type { Block, TableRow } from './parsing/markdown-tree.ts'
import { updateChildren } from './update-children.ts'

type TableBlock = Extract<Block, { kind: 'table' }>

/** A table whose rows are drawn once, however many follow. */
export class TableView {
  readonly element: HTMLElement
  readonly #head: string
  readonly #body = element('tbody')
  readonly #alignments: TableBlock['alignments']
  #rows: readonly TableRow[] = []

  constructor(table: TableBlock) {
    this.#head = headOf(table)
    this.#alignments = table.alignments
    const head = table.header.map((cell, column) =>
      element('th', { scope: 'col', ...this.#place(column) }, ...drawInline(cell)),
    )
    this.element = element(
      'div',
      { class: 'table-frame', tabindex: '0', role: 'group', 'aria-label': 'Table' },
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), this.#body),
    )
    this.update(table)
  }

  isOf(table: TableBlock): boolean {
    return headOf(table) === this.#head
  }

  update({ rows }: TableBlock): void {
    updateChildren(this.#body, rows, (row, index) => this.#rows[index]?.source === row.source, this.#drawRow)
    this.#rows = rows
  }

  readonly #drawRow = ({ cells }: TableRow) =>
    element('tr', {}, ...cells.map((cell, column) => element('td', this.#place(column), ...drawInline(cell))))

  #place(column: number): { class?: string } {
    const alignment = this.#alignments[column]
    return alignment === undefined ? {} : { class: `align-${alignment}` }
  }
}

/** The row of its columns' names and the one that aligns them. */
function headOf({ source }: TableBlock): string {
  return source.split('\n', 2).join('\n')
}
