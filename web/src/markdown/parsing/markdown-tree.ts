export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'strike'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] }
  | { kind: 'math'; tex: string; isDisplay: boolean }
  | { kind: 'break' }

export type Alignment = 'left' | 'center' | 'right'

export interface ListItem {
  /** For an item of a task list: whether it is done. */
  done: boolean | undefined
  blocks: Block[]
}

export interface TableRow {
  cells: Inline[][]
  source: string
}

export type BlockContent =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'heading'; level: number; children: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'list'; ordered: boolean; start: number; items: ListItem[] }
  | { kind: 'quote'; children: Block[] }
  | { kind: 'table'; header: Inline[][]; alignments: ReadonlyArray<Alignment | undefined>; rows: TableRow[] }
  | { kind: 'math'; tex: string }
  | { kind: 'rule' }

/**
 * `source` is the text that a block, or a row of a table, was parsed from. While an answer streams, a block with the
 * same source is not drawn again.
 */
export type Block = BlockContent & { source: string }
