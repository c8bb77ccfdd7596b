import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorMessage } from '../../foundation/errors.ts'
import { deepestNesting, JsonScanner } from './json-scanner.ts'

interface Found {
  readonly model: unknown
  readonly streamed: boolean
}

/** In pieces that end at these places. */
function scan(bytes: Buffer, cuts: readonly number[] = [], checksTexts = true): Found | 'invalid' {
  const scanner = new JsonScanner({ checksTexts })
  try {
    let from = 0
    for (const cut of [...cuts, bytes.length]) {
      scanner.push(bytes.subarray(from, cut))
      from = cut
    }
    scanner.finish()
    return { model: scanner.model, streamed: scanner.streamed }
  } catch {
    return 'invalid'
  }
}

function parse(bytes: Buffer): Found | 'invalid' {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'invalid'
    const { model, stream }: { model?: unknown; stream?: unknown } = value
    return { model: typeof model === 'string' ? model : undefined, streamed: stream === true }
  } catch {
    return 'invalid'
  }
}

const long = 'x'.repeat(200)
const examples = [
  '{"model":"a","messages":[{"role":"user","content":"hi"}],"stream":true}',
  '{"messages":[{"model":"inner","stream":true}],"model":"outer"}',
  '{"model":"a","model":"b","stream":true,"stream":false}',
  '{"model":"a","model":1}',
  '{"m\\u006fdel":"a\\u0041\\n\\"","s\\u0074ream":true}',
  `{"x":"${long}\\"${long}","model":"${long}","y":"${long}\\\\"}`,
  '{"model":"ä€😀","n":[-0,0.5,1e3,-1.5E-3,10],"t":[true,false,null,{},[]]}',
  ' \r\n\t{ "model" : "a" , "stream" : null } \n',
  '{"model":""}',
  '{}',
]
const broken = [
  '',
  '  ',
  '[]',
  '"model"',
  '1',
  '{',
  '{"model"',
  '{"model":',
  '{"model":"a"',
  '{"model":"a",}',
  '{"model":"a"}}',
  '{"model":"a"} x',
  '{,}',
  '{"a":[1,]}',
  '{"a":[1}',
  '{"a":{]}',
  '{"a" 1}',
  '{a:1}',
  "{'a':1}",
  '{"a":01}',
  '{"a":1.}',
  '{"a":.5}',
  '{"a":-}',
  '{"a":1e}',
  '{"a":+1}',
  '{"a":tru}',
  '{"a":truex}',
  '{"a":nul}',
  '{"a":"\\x"}',
  '{"a":"\\u12g4"}',
  '{"a":"\n"}',
  `{"a":"${long}\t"}`,
  '\ufeff{}',
  '{"a":1,"a"}',
]

describe('JsonScanner', () => {
  it.each([...examples, ...broken])('finds what a parser finds, wherever the pieces end: %s', (text) => {
    const bytes = Buffer.from(text)
    const expected = parse(bytes)
    expect(scan(bytes)).toEqual(expected)
    for (let first = 0; first <= bytes.length; first++) {
      expect(scan(bytes, [first])).toEqual(expected)
      expect(scan(bytes, [first, Math.min(first + 1, bytes.length)])).toEqual(expected)
    }
    expect(scan(bytes, Array.from(bytes.keys()))).toEqual(expected)
    // Without looking into texts it may take more, but never finds something else.
    expect(expected === 'invalid' ? 'invalid' : scan(bytes, [7], false)).toEqual(expected)
  })

  it('agrees with a parser on any JSON, broken anywhere, in any pieces', () => {
    const names = fc.constantFrom('model', 'stream', 'a', 'mode', 'models', 'ä', '"', '\\')
    const written = (text: string) =>
      fc.constantFrom(
        JSON.stringify(text),
        `"${Array.from(text, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
      )
    const { value, object } = fc.letrec<{ value: string; object: string }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        names.chain(written),
        fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
        fc.constantFrom('true', 'false', 'null', '0', '-1.25e+10', '1E5', `"${long}"`, `"${long}\\n${long}"`),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(', ')}]`),
        tie('object'),
      ),
      object: fc
        .array(fc.tuple(names.chain(written), tie('value')), { maxLength: 5 })
        .map((members) => `{${members.map(([name, item]) => `${name} :${item}`).join(',\n')}}`),
    }))
    const breaks = fc.option(
      fc.tuple(fc.nat(), fc.constantFrom('', '"', '{', '}', ']', ',', ':', '0', '\\', 'e', '\n', 'ÿ')),
    )
    let valid = 0
    fc.assert(
      fc.property(object, value, breaks, fc.array(fc.nat(), { maxLength: 4 }), (text, _other, broken, places) => {
        let bytes = Buffer.from(text)
        if (broken) {
          const [place, instead] = broken
          const at = place % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(instead, 'latin1'), bytes.subarray(at + 1)])
        }
        const cuts = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b)
        const expected = parse(bytes)
        if (expected !== 'invalid') valid++
        expect(scan(bytes, cuts)).toEqual(expected)
        expect(expected === 'invalid' ? 'invalid' : scan(bytes, cuts, false)).toEqual(expected)
      }),
      { numRuns: 2_000 },
    )
    expect(valid).toBeGreaterThan(200)
  })

  it('takes any bytes for what a parser takes them for', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        const bytes = Buffer.concat([Buffer.from('{"model":"'), noise, Buffer.from('"}')])
        expect(scan(bytes)).toEqual(parse(bytes))
      }),
      { numRuns: 2_000 },
    )
  })

  it('says where it is broken', () => {
    const reasonFor = (text: string) => {
      const scanner = new JsonScanner({ checksTexts: true })
      try {
        scanner.push(Buffer.from(text.slice(0, 3)))
        scanner.push(Buffer.from(text.slice(3)))
        scanner.finish()
        return 'none'
      } catch (error) {
        return errorMessage(error)
      }
    }
    expect(reasonFor('{"a":x}')).toContain('it has an unexpected character at position 5')
    expect(reasonFor('{"a"')).toContain('it ends too early')
    expect(reasonFor('')).toContain('it is empty')
    expect(reasonFor('[1]')).toContain('it is not an object')
  })

  it('refuses what is nested too deep, and nothing that is not', () => {
    const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)},"model":"m"}`)
    expect(scan(nested(deepestNesting))).toEqual({ model: 'm', streamed: false })
    expect(scan(nested(deepestNesting + 1))).toBe('invalid')
  })

  it('keeps no more of a name than a model could have', () => {
    const found = scan(Buffer.from(`{"model":"${'a\\u0041'.repeat(10_000)}"}`))
    expect(found).not.toBe('invalid')
    expect(JSON.stringify(found).length).toBeLessThan(3_000)
  })
})
