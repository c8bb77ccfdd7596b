import { describe, expect, it } from 'vitest'
import { openingOf } from './chat-template.ts'

describe('openingOf', () => {
  it('gives back the reasoning section that a template has opened, so that the answer begins with it', () => {
    expect(openingOf('<|User|>Hi<|Assistant|><think>\n')).toBe('<think>\n')
    expect(openingOf('<|User|>What is <think>?<|Assistant|>')).toBe('')
  })
})
