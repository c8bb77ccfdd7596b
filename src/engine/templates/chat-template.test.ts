import { LlamaText } from 'node-llama-cpp'
import { describe, expect, it } from 'vitest'
import { openingOf } from './chat-template.ts'

describe('openingOf', () => {
  it('gives back the reasoning section that a template has opened, so that the answer begins with it', () => {
    expect(openingOf(LlamaText('<|User|>Hi<|Assistant|><think>\n'), { LlamaText })).toBe('<think>\n')
    expect(openingOf(LlamaText('<|User|>What is <think>?<|Assistant|>'), { LlamaText })).toBe('')
  })
})
