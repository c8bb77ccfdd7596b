import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promptBlocks } from './prompt-blocks.ts'

const chat = (...contents: string[]) =>
  Buffer.from(JSON.stringify({ model: 'tiny', messages: contents.map((content) => ({ role: 'user', content })) }))
const shared = (one: readonly number[], other: readonly number[]) => {
  const differs = one.findIndex((block, index) => block !== other[index])
  return differs < 0 ? one.length : differs
}
const long = (length: number, seed = 'x') => seed.repeat(Math.ceil(length / seed.length)).slice(0, length)

describe('promptBlocks', () => {
  it('gives a conversation that goes on the blocks it had before', () => {
    const [before, after] = [promptBlocks(chat(long(2000))), promptBlocks(chat(long(2000), 'answer', 'and then?'))]
    expect(before).toHaveLength(3)
    expect(shared(before, after)).toBe(3)
  })

  it('does not care what comes before the prompt', () => {
    const body = (fields: object) => Buffer.from(JSON.stringify({ ...fields, prompt: long(1500) }))
    expect(promptBlocks(body({ model: 'a' }))).toEqual(promptBlocks(body({ model: 'bcd', temperature: 1 })))
    expect(promptBlocks(body({ model: 'a' }))).toHaveLength(2)
  })

  it('knows no blocks of a short prompt, of another kind of request and of nothing', () => {
    const bodies = [chat('hello'), Buffer.from(JSON.stringify({ input: long(5000) })), Buffer.alloc(0)]
    expect(bodies.map(promptBlocks)).toEqual([[], [], []])
  })

  it('stays short for a prompt of megabytes', () => {
    expect(promptBlocks(chat(long(3_000_000)))).toHaveLength(64)
  })

  it('differs from the block on in which the prompts differ, and in all after it', () => {
    const prompts = fc.tuple(fc.nat(7999), fc.integer({ min: 0x61, max: 0x7a }))
    fc.assert(
      fc.property(prompts, ([place, letter]) => {
        const text = long(8000, 'The quick brown fox. ')
        const changed = `${text.slice(0, place)}${String.fromCharCode(letter)}${text.slice(place + 1)}`
        const [one, other] = [promptBlocks(chat(text)), promptBlocks(chat(changed))]
        fc.pre(text !== changed)
        const equal = shared(one, other)
        expect(one.slice(equal).every((block, index) => block !== other[equal + index])).toBe(true)
        expect(Math.abs(equal * 512 - place)).toBeLessThan(600)
      }),
    )
  })
})
