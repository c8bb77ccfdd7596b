import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { highlight } from './code-languages.ts'
import { partsOfHighlighted, textOfParts, type CodePart } from './highlighted-code.ts'

const scopesIn = (parts: readonly CodePart[]): string[] =>
  parts.flatMap((part) => (typeof part === 'string' ? [] : [...part.scopes, ...scopesIn(part.parts)]))

test.each([
  ['js', 'const a = "<b>&amp;</b>" // x', ['keyword', 'string', 'comment']],
  ['py', 'def f(a):\n    return 1', ['keyword', 'title', 'function', 'number']],
  ['yaml', 'kind: Model', ['attr', 'string']],
  ['html', '<script>alert("x")</script>', ['tag', 'name']],
])('knows %s', (language, code, scopes) => {
  const parts = highlight(code, language) ?? []
  expect(textOfParts(parts)).toBe(code)
  expect(scopesIn(parts)).toEqual(expect.arrayContaining(scopes))
})

test('leaves a language alone that it does not know', () => {
  expect(highlight('x', 'klingon')).toBeUndefined()
  expect(highlight('x', '__proto__')).toBeUndefined()
})

test('loses nothing of any code, and makes nothing of it but text', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '&',
    '"',
    "'",
    '<script>',
    '</span>',
    '<span class="x">',
    '`',
    '\n',
    'if',
    '/*',
    'a',
    '&lt;',
  )
  fc.assert(
    fc.property(
      fc.array(piece).map((pieces) => pieces.join('')),
      fc.constantFrom('js', 'html', 'bash'),
      (code, language) => {
        expect(textOfParts(highlight(code, language) ?? [])).toBe(code)
      },
    ),
  )
})

test('a tag that is not the highlighter’s own is text', () => {
  expect(partsOfHighlighted('<img src=x>&lt;<span class="hljs-keyword">if</span></span>')).toEqual([
    '<img src=x><',
    { scopes: ['keyword'], parts: ['if'] },
    '</span>',
  ])
})
