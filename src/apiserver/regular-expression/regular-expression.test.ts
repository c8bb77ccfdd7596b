import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RegularExpression } from './regular-expression.ts'
import { threadMs } from '../test-support/thread-time.fixture.ts'

const test = (pattern: string, text: string) => new RegularExpression(pattern).test(text)
const find = (pattern: string, text: string) => {
  const match = new RegularExpression(pattern).find(text)
  return match && text.slice(match.start, match.end)
}

describe('a regular expression', () => {
  it.each([
    ['abc', 'xabcx', true],
    ['^abc$', 'abc', true],
    ['^abc$', 'abc\n', false],
    ['a.c', 'a\nc', false],
    ['(?s)a.c', 'a\nc', true],
    ['a.c', 'a\u2028c', true],
    ['^(a|b)*$', 'abba', true],
    ['^(a|b)*$', 'abca', false],
    ['^[a-c]{2,3}$', 'abca', false],
    ['^[a-c]{2,3}$', 'abc', true],
    ['^[^a]$', 'a', false],
    ['(?i)^straSSe$', 'STRASSE', true],
    ['^\\d+\\s\\w+$', '12 ab_1', true],
    ['^\\s$', '\u00a0', false],
    ['^\\pZ$', '\u00a0', true],
    ['^\\p{Greek}+$', 'αβγ', true],
    ['^\\P{Greek}+$', 'αβγ', false],
    ['^[\\x{FEFF}\\v]$', '\ufeff', true],
    ['^[[:alpha:]]+$', 'abC', true],
    ['^[[:^alpha:]]+$', 'abC', false],
    ['\\bfoo\\b', 'a foo b', true],
    ['\\bfoo\\b', 'afoob', false],
    ['(?m)^b$', 'a\nb\nc', true],
    ['^\\Qa.b\\E+$', 'a.bbb', false],
    ['^a{,3}$', 'a{,3}', true],
    ['^[]a]+$', ']a', true],
    ['^[a-]+$', 'a-', true],
    ['^😀+$', '😀😀', true],
    ['^.$', '😀', true],
    ['(?P<name>x)y', 'xy', true],
    ['^\\101\\x42$', 'AB', true],
    ['^pvc://[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(/[^/\\\\\\s]+)+$', 'pvc://userdata/models/m', true],
  ])('%s judges %j: %s', (pattern, text, expected) => {
    expect(test(pattern, text)).toBe(expected)
  })

  it('finds the leftmost match by preference, not the longest', () => {
    expect(find('a|ab', 'xab')).toBe('a')
    expect(find('a+?', 'aaa')).toBe('a')
    expect(find('a+', 'baaa')).toBe('aaa')
    expect(find('[0-9]{2,3}', 'a1234')).toBe('123')
    expect(find('z', 'abc')).toBeUndefined()
    expect(find('x*', 'aaa')).toBe('')
  })

  it('reads a long text quickly', () => {
    const text = `${'ab'.repeat(500_000)}c`
    const before = threadMs()
    expect([test('^a', text), test('^b', text), test('[^ab]$', text), test('(a|b)*d', text)]).toEqual([
      true,
      false,
      true,
      false,
    ])
    expect(threadMs() - before).toBeLessThan(1000)
  })

  it('finds a match exactly where there is one to test', () => {
    const pattern = fc.constantFrom(
      'a|ab',
      '^a*b?$',
      '(a|b)+c',
      '[^a]b$',
      'a{2,3}',
      '^$',
      '(?i)A.c',
      'b*',
      '^(a|^b)',
      'c$|^a',
    )
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^[abcC\n]{0,8}$/), (source, text) => {
        const expression = new RegularExpression(source)
        expect(expression.test(text)).toBe(expression.find(text) !== undefined)
        const flags = source.startsWith('(?i)') ? 'iu' : 'u'
        expect(expression.test(text)).toBe(new RegExp(source.replace('(?i)', ''), flags).test(text))
      }),
      { numRuns: 500 },
    )
  })

  it('takes linear time where others take exponential', () => {
    expect(test('^(a+)+$', `${'a'.repeat(5000)}b`)).toBe(false)
    expect(test('^(a|a)*$', `${'a'.repeat(5000)}b`)).toBe(false)
    expect(test('(.*)(.*)(.*)x', 'y'.repeat(5000))).toBe(false)
  })

  it.each([
    ['(?=a)b', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
    ['(?!a)b', 'error parsing regexp: invalid or unsupported Perl syntax: `(?!`'],
    ['(?<=a)b', 'error parsing regexp: invalid or unsupported Perl syntax: `(?<=`'],
    ['(a)\\1', 'error parsing regexp: invalid escape sequence: `\\1`'],
    ['(a', 'error parsing regexp: missing closing ): `(a`'],
    ['a)', 'error parsing regexp: unexpected ): `a)`'],
    ['[a', 'error parsing regexp: missing closing ]: `[a`'],
    ['[z-a]', 'error parsing regexp: invalid character class range: `z-a`'],
    ['*a', 'error parsing regexp: missing argument to repetition operator: `*`'],
    ['a**', 'error parsing regexp: invalid nested repetition operator: `**`'],
    ['a{2000}', 'error parsing regexp: invalid repeat count: `{2000}`'],
    ['a\\', 'error parsing regexp: trailing backslash at end of expression: ``'],
    ['\\y', 'error parsing regexp: invalid escape sequence: `\\y`'],
    ['((a{1000}){1000}){1000}', 'error parsing regexp: expression too large: ``'],
  ])('%s is refused', (pattern, message) => {
    expect(() => new RegularExpression(pattern)).toThrow(message)
  })
})
