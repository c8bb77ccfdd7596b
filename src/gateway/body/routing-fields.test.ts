import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findRoutingFields } from './routing-fields.ts'

const fields = (text: string) => findRoutingFields(Buffer.from(text))

/** What a parser finds there; `undefined` when there is nothing to be found. */
function parsed(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { model, stream }: { model?: unknown; stream?: unknown } = value
  return typeof model === 'string' ? { model, streamed: stream === true } : undefined
}

const long = 'She said "model" and \\"stream\\": true. '.repeat(1_000)

describe('findRoutingFields', () => {
  it.each([
    ['first, as most write it', '{"model":"a","messages":[{"role":"user","content":"hi"}]}', false],
    ['last, as others do', '{"messages":[{"role":"user","content":"hi"}],"model":"a"}', false],
    ['with blanks', ' {\n "model" : "a",\t"messages" : [ ] , "stream" : true\r\n}\n', true],
    ['between others', '{"messages":[1,{"x":[]}],"model":"a","stream":true,"n":-1.5e3,"user":"u"}', true],
    ['alone', '{"model":"a"}', false],
    ['not streamed', '{"model":"a","input":"x","stream":false}', false],
    ['before a long text', `{"model":"a","messages":${JSON.stringify(long)},"stream":true}`, true],
    ['behind a long text', `{"messages":[${JSON.stringify(long)}],"model":"a","stream":true}`, true],
    [
      'beside names that end like these',
      '{"model":"a","base_model":"b","messages":["a dream"],"upstream":true}',
      false,
    ],
  ])('finds a model that stands %s', (_where, text, streamed) => {
    expect(fields(text)).toEqual({ model: 'a', streamed })
    expect(parsed(text)).toEqual({ model: 'a', streamed })
  })

  it.each([
    ['is there twice', '{"model":"a","model":"b"}'],
    ['is a value, too', '{"model":"a","messages":[{"role":"model","content":"hi"}]}'],
    ['stands inside of something', '{"messages":[{"model":"a"}]}'],
    ['stands inside of the last', '{"model":1,"metadata":{"x":1,"model":"a"}}'],
    ['is part of a name with quotes', '{"messages":[],"a \\"model":"a"}'],
    ['may be hidden by an escape', '{"model":"a","mod\\u0065l":"b"}'],
    ['has an escape', '{"model":"a\\/b"}'],
    ['is not plain', '{"model":"ä"}'],
    ['is no text', '{"model":["a"]}'],
    ['is empty', '{"model":""}'],
    ['has `stream` beside it twice', '{"model":"a","stream":true,"stream":false}'],
    ['has `stream` beside it before something larger', '{"model":"a","stream":true,"messages":[]}'],
    ['is not there', '{"messages":[]}'],
    ['is in a list', '[{"model":"a"}]'],
    ['is in something that is cut off', '{"model":"a","messages":['],
    ['is in nothing', ''],
    ['has too many beside it that end alike', `{"model":"a","messages":[${'"dream",'.repeat(20)}1]}`],
    ['is longer than what is looked at', `{"model":"${'a'.repeat(20_000)}"}`],
  ])('leaves it to a parser when a model %s', (_how, text) => {
    expect(fields(text)).toBeUndefined()
  })

  it('finds what a parser finds, or nothing, in any JSON', () => {
    const words = ['model', 'stream', 'a', 'role', '"model"', '"model":"x"}', '\\"stream', 'ream', 'ä', 'mod\\u0065l']
    const keys = fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 5 }))
    const scalars = fc.oneof(keys, fc.boolean(), fc.constant(null), fc.double({ noNaN: true }), fc.nat())
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        scalars,
        fc.constant('x'.repeat(20_000)),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map((members) => new Members(members)),
      ),
    }))
    const model = fc.tuple(fc.constant('model'), fc.constantFrom('a', 'b-1'))
    const stream = fc.tuple(fc.constant('stream'), fc.boolean())
    const objects = fc
      .tuple(
        fc.array(fc.tuple(keys, value), { maxLength: 2 }),
        model,
        fc.option(stream),
        fc.array(fc.tuple(keys, scalars), { maxLength: 2 }),
      )
      .chain(([larger, named, streamed, last]) =>
        fc.shuffledSubarray([...larger, named, ...(streamed ? [streamed] : []), ...last], { minLength: 1 }),
      )
      .map((all) => new Members(all))
    const blanks = fc.constantFrom('', '', ' ', '\n\t')
    let found = 0
    fc.assert(
      fc.property(objects, blanks, (object, blank) => {
        const text = written(object, blank)
        const seen = fields(text)
        if (seen) found++
        expect(seen ?? parsed(text)).toEqual(parsed(text))
      }),
      { numRuns: 3_000 },
    )
    expect(found).toBeGreaterThan(100)
  })
})

/** An object in which a name may be there twice. */
class Members {
  readonly all: ReadonlyArray<readonly [string, unknown]>

  constructor(all: ReadonlyArray<readonly [string, unknown]>) {
    this.all = all
  }
}

function written(value: unknown, blank: string): string {
  if (value instanceof Members) {
    const members = value.all.map(([key, member]) => `${JSON.stringify(key)}${blank}:${blank}${written(member, blank)}`)
    return `{${blank}${members.join(`${blank},${blank}`)}${blank}}${blank}`
  }
  if (Array.isArray(value)) return `[${value.map((element) => written(element, blank)).join(',')}]`
  return JSON.stringify(value)
}
