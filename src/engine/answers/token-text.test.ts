import type { Token } from '../llama/native/loaded-model.ts'
import { describe, expect, it } from 'vitest'
import { TokenText } from './token-text.ts'

/** A vocabulary in which every token is one byte. */
const bytes = (text: string) => [...Buffer.from(text)]
const detokenize = (tokens: readonly Token[]) => new TextDecoder().decode(Uint8Array.from(tokens))

describe('TokenText', () => {
  it('lets a character out only when its last byte has come', () => {
    const text = new TokenText(detokenize, [])
    expect(bytes('a🙂é').map((token) => text.push(token))).toEqual(['a', '', '', '', '🙂', '', 'é'])
  })

  it('does not hold back bytes that never become a character', () => {
    const text = new TokenText(detokenize, [])
    const shown = Array.from({ length: 8 }, () => text.push(0xff)).join('')
    expect(shown).toBe('\uFFFD'.repeat(8))
  })

  it('hands out an unfinished character at the end', () => {
    const text = new TokenText(detokenize, [])
    expect(text.push(0xc3)).toBe('')
    expect(text.flush()).toBe('\uFFFD')
    expect(text.flush()).toBe('')
  })

  it('tells the detokenizer what came before', () => {
    const seen: number[][] = []
    const text = new TokenText((tokens, preceding) => {
      seen.push([...preceding])
      return String(tokens)
    }, bytes('xyz'))
    text.push(1)
    text.push(2)
    text.push(3)
    expect(seen).toEqual([
      [120, 121, 122],
      [120, 121, 122, 1],
      [121, 122, 1, 2],
    ])
  })
})
