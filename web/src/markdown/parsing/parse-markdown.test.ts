import { describe, expect, test } from 'vitest'
import type { Block } from './markdown-tree.ts'
import { parseMarkdown } from './parse-markdown.ts'

const text = (value: string) => [{ kind: 'text', text: value }]
const kinds = (blocks: readonly Block[]) => blocks.map(({ kind }) => kind)

describe('blocks', () => {
  test('paragraphs are parted by blank lines', () => {
    expect(parseMarkdown('one\n\n\ntwo')).toEqual([
      { kind: 'paragraph', children: text('one'), source: 'one' },
      { kind: 'paragraph', children: text('two'), source: 'two' },
    ])
    expect(parseMarkdown('')).toEqual([])
  })

  test('a fenced block keeps its text as it is, with its language', () => {
    expect(parseMarkdown('before\n```ts title\nconst a = `**b**`\n\n  c\n```\nafter')).toMatchObject([
      { kind: 'paragraph' },
      { kind: 'code', language: 'ts', text: 'const a = `**b**`\n\n  c' },
      { kind: 'paragraph' },
    ])
  })

  test('a longer fence holds a shorter one', () => {
    expect(parseMarkdown('````\n```\nx\n```\n````')).toMatchObject([{ kind: 'code', text: '```\nx\n```' }])
    expect(parseMarkdown('~~~\n```\n~~~')).toMatchObject([{ kind: 'code', text: '```' }])
  })

  test('a block that is still being written is code already', () => {
    expect(parseMarkdown('```py\nprint(1)')).toMatchObject([{ kind: 'code', language: 'py', text: 'print(1)' }])
  })

  test('headings, rules and quotes', () => {
    expect(parseMarkdown('## Two ##\n---\n> quoted\n> **more**\nafter')).toMatchObject([
      { kind: 'heading', level: 2, children: text('Two') },
      { kind: 'rule' },
      { kind: 'quote', children: [{ kind: 'paragraph' }] },
      { kind: 'paragraph' },
    ])
    expect(kinds(parseMarkdown('#hashtag'))).toEqual(['paragraph'])
  })

  test('a table needs its rule', () => {
    expect(parseMarkdown('| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| 2 |\n\nafter')).toMatchObject([
      {
        kind: 'table',
        header: [text('a'), text('b')],
        rows: [
          { cells: [text('1'), text('x | y')], source: '| 1 | x \\| y |' },
          { cells: [text('2'), []], source: '| 2 |' },
        ],
      },
      { kind: 'paragraph' },
    ])
    expect(kinds(parseMarkdown('a | b\nc | d'))).toEqual(['paragraph'])
  })
})

describe('tables', () => {
  test('say how their columns are aligned', () => {
    expect(parseMarkdown('| a | b | c | d |\n|:--|:-:|--:|---|\n| 1 | 2 | 3 | 4 |')).toMatchObject([
      { kind: 'table', alignments: ['left', 'center', 'right', undefined] },
    ])
  })

  test('may follow a paragraph without a blank line', () => {
    expect(kinds(parseMarkdown('Prices:\n| a | b |\n|---|---|\n| 1 | 2 |'))).toEqual(['paragraph', 'table'])
  })
})

describe('formulas', () => {
  test.each([
    ['$$\na = b\n$$', 'a = b'],
    ['$$a = b$$', 'a = b'],
    ['\\[\na\n- b\n\\]', 'a\n- b'],
    ['\\[ a \\]', 'a'],
  ])('with lines of their own: %j', (written, tex) => {
    expect(parseMarkdown(written)).toMatchObject([{ kind: 'math', tex }])
    expect(kinds(parseMarkdown(`before\n${written}\nafter`))).toEqual(['paragraph', 'math', 'paragraph'])
  })

  test('without an end, or with text behind it, are text', () => {
    expect(parseMarkdown('$$\na = b')).toMatchObject([{ kind: 'paragraph', children: text('$$\na = b') }])
    expect(kinds(parseMarkdown('$$\na\n\n$$'))).toEqual(['paragraph', 'paragraph'])
    expect(kinds(parseMarkdown('$$a$$ is a'))).toEqual(['paragraph'])
  })
})

describe('lists', () => {
  test('of tasks say what is done', () => {
    expect(parseMarkdown('- [x] a\n- [ ] **b**\n- c\n- [y] d')).toMatchObject([
      {
        items: [
          { done: true, blocks: [{ children: text('a') }] },
          { done: false, blocks: [{ children: [{ kind: 'strong' }] }] },
          { done: undefined },
          { done: undefined, blocks: [{ children: text('[y] d') }] },
        ],
      },
    ])
  })

  test('bullets and numbers are two lists; a number list keeps where it starts', () => {
    expect(parseMarkdown('- a\n- b\n3. c\n4. d')).toMatchObject([
      {
        kind: 'list',
        ordered: false,
        items: [{ blocks: [{ children: text('a') }] }, { blocks: [{ children: text('b') }] }],
      },
      {
        kind: 'list',
        ordered: true,
        start: 3,
        items: [{ blocks: [{ children: text('c') }] }, { blocks: [{ children: text('d') }] }],
      },
    ])
  })

  test.each([2, 3, 4])('items indented by %d nest', (indent) => {
    const pad = ' '.repeat(indent)
    expect(parseMarkdown(`1. a\n${pad}- x\n${pad}- y\n2. b`)).toMatchObject([
      {
        kind: 'list',
        items: [
          { blocks: [{ kind: 'paragraph' }, { kind: 'list', items: [{ blocks: [{}] }, { blocks: [{}] }] }] },
          { blocks: [{ kind: 'paragraph' }] },
        ],
      },
    ])
  })

  test('blank lines between items do not end the list, nor does code inside', () => {
    expect(parseMarkdown('1. a\n\n   ```sh\n   ls\n   ```\n\n2. b\n\nafter')).toMatchObject([
      {
        kind: 'list',
        items: [{ blocks: [{ kind: 'paragraph' }, { kind: 'code', text: 'ls' }] }, { blocks: [{ kind: 'paragraph' }] }],
      },
      { kind: 'paragraph' },
    ])
  })

  test('a wrapped line stays in its item', () => {
    expect(parseMarkdown('- a\nwrapped\n- b')).toMatchObject([
      { kind: 'list', items: [{ blocks: [{ kind: 'paragraph' }] }, { blocks: [{}] }] },
    ])
  })

  test('bold at the start of a line is not a list', () => {
    expect(kinds(parseMarkdown('**Note** this'))).toEqual(['paragraph'])
  })
})

test('while an answer grows, only its last blocks change', () => {
  const whole = '# Title\n\nA paragraph.\n\n- one\n- two\n\n```js\nlet a\n```\n\nThe **end**.'
  let before: string[] = []
  for (let length = 1; length <= whole.length; length++) {
    const sources = parseMarkdown(whole.slice(0, length)).map(({ source }) => source)
    const settled = before.slice(0, -1)
    expect(sources.slice(0, settled.length)).toEqual(settled)
    before = sources
  }
})

test('nothing in deep nesting or odd input makes it fail', () => {
  for (const odd of [
    '> '.repeat(500) + 'x',
    '- '.repeat(500) + 'x',
    '```',
    '|',
    '|-|',
    '|\n|-',
    '\n\n',
    '- ',
    '1.',
    '>',
    '#',
  ]) {
    expect(Array.isArray(parseMarkdown(odd))).toBe(true)
  }
})
