import { expect, test } from 'vitest'
import { loadSettings, saveSettings } from './settings.ts'
import { MemoryStorage } from './memory-storage.ts'

test('gives back what was saved', () => {
  const storage = new MemoryStorage()
  const settings = { systemPrompt: 'Be brief.', temperature: 0.3, model: 'smollm2' }
  saveSettings(storage, settings)
  expect(loadSettings(storage)).toEqual(settings)
})

test('starts without a prompt and with the model’s own temperature', () => {
  const storage = new MemoryStorage()
  expect(loadSettings(storage)).toEqual({ systemPrompt: '', temperature: null, model: '' })
  storage.setItem('sluice.settings', 'damaged')
  expect(loadSettings(storage).temperature).toBeNull()
})

test('keeps the temperature inside what the API takes', () => {
  const storage = new MemoryStorage()
  storage.setItem('sluice.settings', '{"temperature":99}')
  expect(loadSettings(storage).temperature).toBe(2)
})
