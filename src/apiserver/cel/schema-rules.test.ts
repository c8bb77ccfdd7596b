import { describe, expect, it } from 'vitest'
import type { CelValidation, StructuralSchema } from '../../resources/structural-schema.ts'
import { RuleContext } from './cel-program.ts'
import { SchemaRules } from './schema-rules.ts'
import { finish } from '../writing/write-phases.ts'
import { threadMs } from '../test-support/thread-time.fixture.ts'

// What rules do is shown in tests/kubernetes/custom-resource-rules.test.ts, on a real server too. Here is what only
// this server has to withstand.

function judge(
  schema: StructuralSchema,
  rule: Partial<CelValidation> & { rule: string },
  value: unknown,
  previous?: unknown,
): string[] {
  const whole: StructuralSchema = {
    type: 'object',
    properties: { v: { ...schema, 'x-kubernetes-validations': [rule] } },
  }
  const before = previous === undefined ? undefined : { v: previous }
  return finish(new SchemaRules(whole).check({ v: value }, before)).map(({ field, message }) => `${field}: ${message}`)
}

const text: StructuralSchema = { type: 'string' }
const texts: StructuralSchema = { type: 'array', items: text }

describe('a rule', () => {
  it('sees values as their schema says', () => {
    const object: StructuralSchema = {
      type: 'object',
      properties: {
        at: { type: 'string', format: 'date-time' },
        wait: { type: 'string', format: 'duration' },
        bytes: { type: 'string', format: 'byte' },
        ratio: { type: 'number' },
        either: { 'x-kubernetes-int-or-string': true },
        maybe: { type: 'string', nullable: true },
        labels: { type: 'object', additionalProperties: text },
        'kind.of': text,
        namespace: text,
      },
    }
    const value = {
      at: '2030-01-01T00:00:00Z',
      wait: '90m',
      bytes: 'aGk=',
      ratio: 1,
      either: 5,
      maybe: null,
      labels: { 'a.b': 'c' },
      'kind.of': 'k',
      namespace: 'n',
    }
    for (const rule of [
      "self.at.getFullYear() == 2030 && self.wait == duration('1h30m') && self.bytes.size() == 2",
      "self.ratio < 1.5 && self.either == 5 && self.maybe == null && self.labels['a.b'] == 'c'",
      "self.kind__dot__of == 'k' && self.__namespace__ == 'n' && 'a.b' in self.labels && self.labels.all(k, k != '')",
      'self == self && has(self.labels) && !(self != self)',
    ]) {
      expect(judge(object, { rule }, value)).toEqual([])
    }
  })

  it('is stopped before it runs too long', () => {
    const rule = 'self.all(a, self.all(b, self.all(c, self.all(d, a != b || c != d))))'
    const long = Array.from({ length: 500 }, (_, index) => String(index))
    const before = threadMs()
    expect(judge(texts, { rule }, long)).toEqual([
      `v: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`,
    ])
    expect(threadMs() - before).toBeLessThan(1000)
    expect(judge(texts, { rule: 'self.all(a, self.exists(b, a == b))' }, long)).toEqual([])
  })

  it('is stopped when it puts together more and more lists', () => {
    const long = Array.from({ length: 20_000 }, (_, index) => String(index))
    expect(judge(texts, { rule: 'self.all(a, self + self != [])' }, long)[0]).toContain('cost limit exceeded')
  })

  it('is stopped when its message would run too long', () => {
    const messageExpression = "self.map(a, self.map(b, self.map(c, a + b + c).join('')).join('')).join('')"
    const long = Array.from({ length: 300 }, (_, index) => String(index))
    expect(judge(texts, { rule: 'false', messageExpression }, long)[0]).toContain('cost limit exceeded')
  })

  it('is stopped when what it makes grows too large', () => {
    const tripled = "self.replace('', self).replace('', self).replace('', self).size() > 0"
    expect(judge(text, { rule: tripled }, 'x'.repeat(1000))[0]).toContain('cost limit exceeded')
  })

  it('matches expressions in time linear in the text', () => {
    expect(judge(text, { rule: "self.matches('^(a+)+$')" }, `${'a'.repeat(10_000)}b`)).toHaveLength(1)
  })

  it('about change is judged only where there is something to compare', () => {
    const rule = 'self == oldSelf'
    expect(judge(text, { rule }, 'a')).toEqual([])
    expect(judge(text, { rule }, 'a', 'a')).toEqual([])
    expect(judge(text, { rule }, 'a', 'b')).toHaveLength(1)
    const optional = { rule: "oldSelf.hasValue() || self == 'new'", optionalOldSelf: true }
    expect(judge(text, optional, 'old')).toHaveLength(1)
    expect(judge(text, optional, 'old', 'any')).toEqual([])
  })

  it('may ask whether something computed has a field, and not for a field that there is not', () => {
    const named: StructuralSchema = { type: 'array', items: { type: 'object', properties: { name: text } } }
    const rule = { rule: 'has(self[0].name) && has(self.filter(one, has([one][0].name))[0].name)' }
    expect(judge(named, rule, [{ name: 'a' }])).toEqual([])
    expect(judge(named, rule, [{}])).toHaveLength(1)
    expect(() => new RuleContext(named, false).compile('has(self[0].nobody)', 'bool')).toThrow('compilation failed')
  })

  it('falls back to its message when it cannot make one', () => {
    const rule = { rule: 'false', messageExpression: "'x'.substring(5)", message: 'the fixed one' }
    expect(judge(text, rule, 'a')).toEqual(['v: Invalid value: "string": the fixed one'])
  })

  it.each([
    "self.json() == ''",
    "self.base64() == ''",
    'cel.bind(x, self, x == x)',
    'self.all(i, v, true)',
    "ip(self) == ip('::1')",
    'self.unknown == 1',
    'has(self.unknown)',
    'has([self][0].unknown)',
    "['a'].exists(x, has(x.unknown))",
    '[1, 2].transformList(i, v, v) == []',
    `${'!'.repeat(6000)}true`,
  ])('is refused when it uses what is not there: %s', (rule) => {
    expect(() => new RuleContext(text, false).compile(rule, 'bool')).toThrow('compilation failed')
  })
})
