import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { nextTurn } from './loop-turn.ts'

describe('nextTurn', () => {
  it('gives every turn of the loop to one piece of work only, in the order they came', async () => {
    const seen: string[] = []
    const work = async (name: string) => {
      for (let piece = 0; piece < 2; piece++) {
        await nextTurn()
        seen.push(`${name}${piece}`)
      }
    }
    const others = async () => {
      for (let index = 0; index < 12; index++) {
        await turn()
        seen.push('.')
      }
    }
    await Promise.all([work('a'), work('b'), work('c'), others()])
    expect(seen.filter((entry) => entry !== '.')).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1'])
    expect(seen.join(' ')).not.toMatch(/\d [abc]/)
  })

  it('ends for somebody who has left, and goes on with the next', async () => {
    const left = AbortSignal.abort(new Error('left'))
    const waits = [nextTurn(left), nextTurn()]
    await expect(waits[0]).rejects.toThrow('left')
    await expect(waits[1]).resolves.toBeUndefined()
  })
})
