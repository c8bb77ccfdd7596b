import { element } from '../../../src/view/element.ts'

type Cell = string | Node

/**
 * A table that becomes a list of cards where there is no room: each cell then shows its column's name. The roles are
 * said because a browser takes a table that is laid out otherwise for none.
 */
export function table(
  columns: readonly string[],
  rows: ReadonlyArray<readonly Cell[]>,
  none = 'Nothing here.',
): HTMLElement {
  if (rows.length === 0) return element('p', { class: 'empty' }, none)
  const head = element(
    'tr',
    { role: 'row' },
    ...columns.map((column) => element('th', { scope: 'col', role: 'columnheader' }, column)),
  )
  const body = rows.map((cells) =>
    element(
      'tr',
      { role: 'row' },
      ...cells.map((cell, at) => element('td', { role: 'cell', 'data-column': columns[at] ?? '' }, cell)),
    ),
  )
  return element(
    'table',
    { role: 'table' },
    element('thead', { role: 'rowgroup' }, head),
    element('tbody', { role: 'rowgroup' }, ...body),
  )
}
