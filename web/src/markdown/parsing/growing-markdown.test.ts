import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrowingMarkdown } from './growing-markdown.ts'
import type { Block, Inline } from './markdown-tree.ts'
import { parseMarkdown } from './parse-markdown.ts'

/** Pieces of Markdown that mean something at the start of a line or in it, and some that would be markup elsewhere. */
const piece = fc.constantFrom(
  '\n',
  '\n\n',
  '\r\n',
  ' ',
  '  ',
  '- ',
  '1. ',
  '> ',
  '# ',
  '---',
  '```',
  '```js\n',
  '~~~',
  '|',
  '| a | b |',
  '|---|:-:|',
  '$$',
  '$',
  '\\[',
  '\\]',
  '\\(',
  '**',
  '_',
  '`',
  '[x] ',
  '&lt;',
  '&#60;',
  'word',
  '-',
  '5',
  '\\',
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '[a](javascript:alert(1))',
  '[a](&#106;avascript:x)',
  '[a](data:text/html,x)',
  '[a](https://e.org)',
  'https://e.org/<b>',
)
const markdown = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))

test('an answer that grows is the same in the end, and at every step on the way', () => {
  fc.assert(
    fc.property(markdown, fc.integer({ min: 1, max: 7 }), (text, step) => {
      const growing = new GrowingMarkdown()
      let blocks: Block[] = []
      for (let length = step; length < text.length + step; length += step) {
        const soFar = text.slice(0, length)
        const { kept, changed } = growing.update(soFar)
        blocks = [...blocks.slice(0, kept), ...changed]
        expect(blocks).toEqual(parseMarkdown(soFar))
      }
    }),
    { numRuns: 300 },
  )
})

test('text that is not longer but another is parsed from its start', () => {
  const growing = new GrowingMarkdown()
  growing.update('one\n\ntwo\n\nthree\n')
  expect(growing.update('other')).toEqual({ kept: 0, changed: parseMarkdown('other') })
})

test('only the end of a long answer is parsed again', () => {
  const growing = new GrowingMarkdown()
  const paragraphs = Array.from({ length: 500 }, (_, index) => `Paragraph ${index}.\n\n`)
  let text = ''
  for (const paragraph of paragraphs) {
    text += paragraph
    expect(growing.update(text).changed.length).toBeLessThanOrEqual(2)
  }
})

test('nothing that a model writes becomes anything but text and harmless links', () => {
  const linksOf = (nodes: readonly Inline[]): string[] =>
    nodes.flatMap((node) => [
      ...(node.kind === 'link' ? [node.href] : []),
      ...('children' in node ? linksOf(node.children) : []),
    ])
  const inlineOf = (block: Block): Inline[] => {
    switch (block.kind) {
      case 'paragraph':
      case 'heading':
        return block.children
      case 'list':
        return block.items.flatMap(({ blocks }) => blocks.flatMap(inlineOf))
      case 'quote':
        return block.children.flatMap(inlineOf)
      case 'table':
        return [block.header, ...block.rows.map(({ cells }) => cells)].flat(2)
      default:
        return []
    }
  }
  fc.assert(
    fc.property(markdown, (text) => {
      for (const href of linksOf(parseMarkdown(text).flatMap(inlineOf))) expect(href).toMatch(/^(?:https?|mailto):/)
    }),
    { numRuns: 500 },
  )
})
