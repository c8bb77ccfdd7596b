import { expect, test } from 'vitest'
import { API_KEY_ITEM, ApiKey, readApiKey } from './api-key.ts'
import { MemoryStorage } from './memory-storage.ts'

const storages = () => ({ tab: new MemoryStorage(), browser: new MemoryStorage() })

test('sends nothing without a key', () => {
  expect(new ApiKey(storages()).headers()).toEqual({})
})

test('reads a key as people paste it, and refuses what no header can carry', () => {
  expect(readApiKey('  sk-a-b\n')).toBe('sk-a-b')
  expect(readApiKey('Bearer sk-a-b')).toBe('sk-a-b')
  for (const text of ['', ' ', 'sk-a b', 'sk-ключ', 'x'.repeat(513)]) expect(readApiKey(text)).toBeUndefined()
})

test.each(['tab', 'browser'] as const)('a key that was taken is kept in the %s and nowhere else', (keeping) => {
  const kept = storages()
  const key = new ApiKey(kept)
  key.try('sk-a-b', keeping)
  expect(key.headers()).toEqual({ authorization: 'Bearer sk-a-b' })
  expect([kept.tab.length, kept.browser.length]).toEqual([0, 0])
  key.taken()
  expect(kept[keeping].getItem(API_KEY_ITEM)).toBe('sk-a-b')
  expect(kept.tab.length + kept.browser.length).toBe(1)
  const again = new ApiKey(kept)
  expect([again.value, again.keeping]).toEqual(['sk-a-b', keeping])
})

test('a key that is tried in vain leaves the kept one alone', () => {
  const kept = storages()
  const key = new ApiKey(kept)
  key.try('sk-good', 'browser')
  key.taken()
  key.try('sk-wrong', 'tab')
  expect(key.value).toBe('sk-wrong')
  key.reload()
  expect([key.value, key.keeping]).toEqual(['sk-good', 'browser'])
})

test('another key replaces the old one wherever that was, and forgetting leaves none', () => {
  const kept = storages()
  const key = new ApiKey(kept)
  key.try('sk-old', 'browser')
  key.taken()
  key.try('sk-new', 'tab')
  key.taken()
  expect(kept.browser.length).toBe(0)
  key.forget()
  expect([key.value, kept.tab.length, kept.browser.length]).toEqual([undefined, 0, 0])
})

test('a storage that is full does not stop the key from being used', () => {
  const full = new MemoryStorage()
  full.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError')
  }
  const key = new ApiKey({ tab: full, browser: full })
  key.try('sk-a', 'tab')
  key.taken()
  expect(key.value).toBe('sk-a')
})
