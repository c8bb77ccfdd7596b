import { expect, test } from 'vitest'
import { MemoryStorage } from './memory-storage.ts'
import { OpenChat } from './open-chat.ts'

test('knows the chat of its own tab, and in a new tab the last one of all', () => {
  const browser = new MemoryStorage()
  const one = new OpenChat({ tab: new MemoryStorage(), browser })
  const other = new OpenChat({ tab: new MemoryStorage(), browser })
  expect(one.last).toBeNull()
  one.remember('a')
  other.remember('b')
  expect([one.last, other.last]).toEqual(['a', 'b'])
  const fresh = () => new OpenChat({ tab: new MemoryStorage(), browser })
  expect(fresh().last).toBe('b')
  other.remember(null)
  expect([one.last, fresh().last]).toEqual(['a', null])
})
