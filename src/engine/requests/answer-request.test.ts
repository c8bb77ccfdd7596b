import { LlamaText, SpecialTokensText } from 'node-llama-cpp'
import { describe, expect, it } from 'vitest'
import { decideMaxTokens } from './answer-request.ts'
import { openingOf } from '../templates/chat-template.ts'
import { decideContextLength } from '../llama/context-limits.ts'

describe('decideMaxTokens', () => {
  const decide = (promptTokens: number, requested?: number, fallback?: number) =>
    decideMaxTokens({ promptTokens, requested, fallback, contextLength: 100 })

  it('gives an answer the room that is left, the usual length, or what was asked for', () => {
    expect(decide(30)).toBe(70)
    expect(decide(30, undefined, 16)).toBe(16)
    expect(decide(95, undefined, 16)).toBe(5)
    expect(decide(30, 70)).toBe(70)
  })

  it('refuses what does not fit, with the numbers', () => {
    expect(() => decide(30, 71)).toThrow('needs 101 tokens, but the model has room for 100')
    expect(() => decide(100)).toThrow('needs 101 tokens')
    expect(() => decide(0)).toThrow('The prompt is empty.')
  })
})

describe('decideContextLength', () => {
  it('takes what was asked for, else the trained length up to a bound', () => {
    expect(decideContextLength(1000, 8192)).toBe(1000)
    expect(decideContextLength(undefined, 2048)).toBe(2048)
    expect(decideContextLength(undefined, 131_072)).toBe(4096)
  })

  it('refuses more than the model was trained on, with both numbers', () => {
    expect(() => decideContextLength(9000, 8192)).toThrow('is 9000, but the model was trained on 8192 tokens')
  })
})

describe('openingOf', () => {
  it('finds a reasoning section that the template has opened', () => {
    expect(openingOf(LlamaText('<|Assistant|>', new SpecialTokensText('<think>\n')), { LlamaText })).toBe('<think>\n')
    expect(openingOf(LlamaText('<think></think>\n<|Assistant|>'), { LlamaText })).toBe('')
  })
})
