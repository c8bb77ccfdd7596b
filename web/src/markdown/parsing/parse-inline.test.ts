import { describe, expect, test } from 'vitest'
import type { Inline } from './markdown-tree.ts'
import { parseInline } from './parse-inline.ts'

/** Writes nodes in a short notation, so that expectations are readable. */
function draw(nodes: Inline[]): string {
  return nodes
    .map((node) => {
      switch (node.kind) {
        case 'text':
          return node.text
        case 'code':
          return `{code ${node.text}}`
        case 'math':
          return `{math ${node.tex}}`
        case 'break':
          return '{br}'
        case 'link':
          return `{link ${node.href} ${draw(node.children)}}`
        default:
          return `{${node.kind} ${draw(node.children)}}`
      }
    })
    .join('')
}

test.each([
  ['plain', 'plain'],
  ['a **b** c', 'a {strong b} c'],
  ['__b__', '{strong b}'],
  ['a *b* and _c_', 'a {emphasis b} and {emphasis c}'],
  ['***both***', '{strong {emphasis both}}'],
  ['**a *b* c**', '{strong a {emphasis b} c}'],
  ['*a **b** c*', '{emphasis a {strong b} c}'],
  ['~~gone~~', '{strike gone}'],
  ['snake_case_name and __init__x', 'snake_case_name and __init__x'],
  ['2 * 3 * 4 and a*', '2 * 3 * 4 and a*'],
  ['**open', '**open'],
  ['** not bold **', '** not bold **'],
  ['use `a*b*c` here', 'use {code a*b*c} here'],
  ['``a ` b``', '{code a ` b}'],
  ['`` `x` ``', '{code `x`}'],
  ['`open', '`open'],
  [String.raw`\*not\* \` code`, '*not* ` code'],
  [String.raw`C:\dir`, String.raw`C:\dir`],
  ['one\ntwo', 'one{br}two'],
  ['[Sluice](https://example.org/a)', '{link https://example.org/a Sluice}'],
  ['[w](https://en.example.org/A_(b))', '{link https://en.example.org/A_(b) w}'],
  ['see https://example.org/x.', 'see {link https://example.org/x https://example.org/x}.'],
  ['hhttps://x', 'hhttps://x'],
])('%j → %j', (source, expected) => {
  expect(draw(parseInline(source))).toBe(expected)
})

describe('what a model writes is not trusted', () => {
  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '/relative',
    'blob:x',
  ])('a link to %s is only its label', (target) => {
    expect(parseInline(`[click](${target})`).some(({ kind }) => kind === 'link')).toBe(false)
  })

  test('HTML is text', () => {
    expect(parseInline('<img src=x onerror=alert(1)>')).toEqual([
      { kind: 'text', text: '<img src=x onerror=alert(1)>' },
    ])
  })

  test.each(['*', '**', '_', '`', '[', '~~', '*a', '**a ', '[a](', '`a``', '\\', '_a *b '])(
    'a wall of %j is read in time',
    (piece) => {
      // In processor time, which does not grow when the machine is busy with something else.
      const begun = process.threadCpuUsage()
      parseInline(piece.repeat(Math.floor(10_000 / piece.length)))
      const { user, system } = process.threadCpuUsage(begun)
      expect((user + system) / 1000).toBeLessThan(2_000)
    },
  )
})

test.each([
  ['$x^2$', ['x^2', false]],
  ['so \\(a_b\\) is', ['a_b', false]],
  ['$$a$$ is', ['a', true]],
  ['\\[a\\] is', ['a', true]],
])('formula: %s', (written, [tex, isDisplay]) => {
  expect(parseInline(written).filter(({ kind }) => kind === 'math')).toEqual([{ kind: 'math', tex, isDisplay }])
})

test.each(['$5 and $10', 'from $5–$10', 'a $ b', '$$', '\\$5 and 6$', '$ x $', 'only $5'])('money: %s', (written) => {
  expect(parseInline(written).some(({ kind }) => kind === 'math')).toBe(false)
})

test('entities are characters, and make no markup and no links that run something', () => {
  expect(parseInline('&lt;b&gt; &copy; &amp;lt; &nosuch;')).toEqual([{ kind: 'text', text: '<b> © &lt; &nosuch;' }])
  expect(parseInline('&#42;not strong&#42;')).toEqual([{ kind: 'text', text: '*not strong*' }])
  expect(parseInline('[a](javascript&colon;alert(1))').some(({ kind }) => kind === 'link')).toBe(false)
  expect(parseInline('[a](&#106;avascript:alert(1))').some(({ kind }) => kind === 'link')).toBe(false)
  expect(parseInline('[a](https://e.org/?a=1&amp;b=2)')).toMatchObject([{ href: 'https://e.org/?a=1&b=2' }])
})
