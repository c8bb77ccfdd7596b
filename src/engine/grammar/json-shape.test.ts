import { describe, expect, it } from 'vitest'
import { JsonShape } from './json-shape.ts'

/** Feeds the text in pieces of a few bytes, so that pieces end at every kind of place. */
function problemOf(text: string, room?: number, pieceBytes = 7): string | undefined {
  const shape = new JsonShape(room)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const problem = shape.take(bytes.subarray(at, at + pieceBytes))
    if (problem) return problem.code === 'invalid_request' ? problem.message : problem.code
  }
  return undefined
}

describe('the shape of a JSON body', () => {
  it('says nothing about an ordinary one, nor about what only looks like structure inside a text', () => {
    expect(problemOf(JSON.stringify({ a: [1, 2, { b: 'x' }], c: null }))).toBeUndefined()
    expect(problemOf(JSON.stringify({ a: '[{"\\'.repeat(200), ['[\\"'.repeat(200)]: 1 }))).toBeUndefined()
    expect(problemOf(`${'[]'.repeat(1000)}${'{}'.repeat(1000)}`)).toBeUndefined()
  })

  it('refuses what is nested too deep, or has too many members or values', () => {
    expect(problemOf('['.repeat(128))).toBeUndefined()
    expect(problemOf(`{"a":${'['.repeat(128)}`)).toMatch(/nested deeper than 128/)
    expect(problemOf('"a":1,'.repeat(100_001), undefined, 65_536)).toMatch(/more than 100000 members/)
    expect(problemOf('1,'.repeat(500_001), undefined, 65_536)).toMatch(/more than 500000 values/)
  })

  it.each([
    ['plain', 'x'],
    ['escaped', String.raw`\n`],
    ['escaped by number', String.raw`\u00e9`],
    ['of several bytes', '中'],
    ['quoted', String.raw`\"`],
  ])('counts characters of texts, %s', (_, character) => {
    // Two million characters are allowed outside of prompts, and 512 per token.
    const text = (count: number) => `{"a":"${character.repeat(count)}"}`
    const most = 2 * 1024 * 1024 + 512 * 2
    expect(problemOf(text(most - 10), 2, 65_537)).toBeUndefined()
    expect(problemOf(text(most + 10), 2, 65_537)).toBe('context_length_exceeded')
  })
})
