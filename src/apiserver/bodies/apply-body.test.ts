import { describe, expect, it } from 'vitest'
import { readManifest } from './apply-body.ts'
import { checkManagerName, managerName } from '../server-side-apply/managers/manager-name.ts'

async function read(text: string, fieldValidation: 'Ignore' | 'Warn' | 'Strict' = 'Warn') {
  const warnings: string[] = []
  const value = await readManifest(text, { fieldValidation, warn: (warning) => warnings.push(warning) })
  return { value, warnings }
}

describe('the body of an apply', () => {
  it('is JSON or YAML, as Kubernetes reads it', async () => {
    expect((await read('{"a": {"b": [1, null]}}')).value).toEqual({ a: { b: [1, null] } })
    const yaml = 'a: &x {b: 1}\nc: *x\nd: yes\ne: 2030-01-01\nf: 0o7\n---\nsecond: document\n'
    expect((await read(yaml)).value).toEqual({ a: { b: 1 }, c: { b: 1 }, d: true, e: '2030-01-01', f: '0o7' })
    expect((await read('')).value).toEqual({})
  })

  it.each([
    ['a:\n  x: 1\n  x: 2\n', 'line 3: key "x" already set in map'],
    ['a: 1\n"a": 2\n', 'line 2: key "a" already set in map'],
    ['{"a": {"x": 1,\n "x": 2}}', 'line 2: key "x" already set in map'],
  ])('tells of keys given twice: %j', async (text, told) => {
    expect((await read(text)).warnings).toEqual([told])
    expect((await read(text, 'Ignore')).warnings).toEqual([])
    await expect(read(text, 'Strict')).rejects.toMatchObject({
      code: 400,
      message: `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${told}`,
    })
  })

  const bomb = Array.from(
    { length: 20 },
    (_, at) => `k${at}: &a${at} [${at === 0 ? '1' : `*a${at - 1}, *a${at - 1}, *a${at - 1}`}]`,
  )
  it.each([
    ['a list', '[1]', 'the manifest is not an object'],
    ['half of something', 'secret: [hunter2', 'yaml: line 1'],
    ['half of JSON', '{"secret": "hunter2"', 'yaml: line 1'],
    ['aliases without end', bomb.join('\n'), 'too many aliases'],
    ['YAML without end', `a: ${'['.repeat(100_000)}`, 'error decoding YAML'],
    ['JSON without end', `{"a": ${'['.repeat(500)}${']'.repeat(500)}}`, 'nested deeper than'],
    ['an alias of nothing', 'a: *nothing', 'error decoding YAML'],
  ])('is refused when it is %s, without repeating it', async (_name, text, why) => {
    const error: unknown = await read(text).catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining(why) })
    expect(String(error)).not.toContain('hunter2')
  })
})

describe('the name of a manager', () => {
  it.each([
    ['given', 'kubectl/v1', 'given'],
    ['', 'kubectl/v1.34 (linux)', 'kubectl'],
    ['', 'node-fetch', 'node-fetch'],
    ['', 'a\u0000b\tc/1', 'abc'],
    ['', 'é'.repeat(200), 'é'.repeat(64)],
    ['', '', ''],
  ])('%j from %j is %j', (given, agent, expected) => {
    expect(managerName(given, agent)).toBe(expected)
  })

  it('is short and printable', () => {
    expect(checkManagerName('a'.repeat(128))).toEqual([])
    expect(checkManagerName('a'.repeat(129))).toMatchObject([{ message: 'Too long: may not be more than 128 bytes' }])
    expect(checkManagerName('a\nb')).toMatchObject([{ reason: 'FieldValueInvalid' }])
  })
})
