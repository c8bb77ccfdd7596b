import { expect, test } from 'vitest'
import { ApiKey } from './api-key.ts'
import { KeyGate } from './key-gate.ts'
import { MemoryStorage } from './memory-storage.ts'
import type { ModelDirectory } from './model-watch.ts'

const listed: ModelDirectory = { status: 'listed', models: [], observedAt: 0, refusal: '' }
const locked: ModelDirectory = { ...listed, status: 'locked', refusal: 'This gateway asks for an API key.' }
const silent: ModelDirectory = { ...listed, status: 'unreachable' }

function gate(kept?: string) {
  const browser = new MemoryStorage()
  if (kept !== undefined) browser.setItem('sluice.api-key', kept)
  const key = new ApiKey({ tab: new MemoryStorage(), browser })
  return { key, gate: new KeyGate(key) }
}

test('where no key is needed, none is asked for', () => {
  const { gate: open, key } = gate()
  for (const directory of [{ ...listed, status: 'loading' as const }, listed, silent]) {
    open.heard(directory)
    expect(open.form(directory).visible).toBe(false)
  }
  expect(key.headers()).toEqual({})
})

test("asks with the gateway's own sentence, and closes when the key is taken", () => {
  const { gate: asking, key } = gate()
  asking.heard(locked)
  expect(asking.form(locked)).toMatchObject({ visible: true, message: locked.refusal, isFailure: false })
  expect(asking.enter('sk-a', 'browser')).toBe(true)
  expect(asking.form(locked)).toMatchObject({ visible: true, checking: true })
  asking.heard(listed)
  expect(asking.form(listed)).toMatchObject({ visible: false, checking: false })
  expect(key.value).toBe('sk-a')
})

test('says what is wrong with a key, and when the gateway could not be asked', () => {
  const { gate: asking, key } = gate()
  asking.heard(locked)
  expect(asking.enter('two words', 'tab')).toBe(false)
  expect(asking.form(locked).message).toContain('without spaces')
  expect(key.value).toBeUndefined()
  asking.enter('sk-wrong', 'tab')
  asking.heard({ ...locked, refusal: 'not valid' })
  expect(asking.form({ ...locked, refusal: 'not valid' })).toMatchObject({ message: 'not valid', isFailure: true })
  asking.enter('sk-wrong', 'tab')
  asking.heard(silent)
  expect(asking.form(locked).message).toContain('does not answer')
})

test('a key is changed only when the new one is taken, and cancelling goes back', () => {
  const { gate: asking, key } = gate('sk-old')
  asking.change()
  asking.heard(listed)
  expect(asking.form(listed)).toMatchObject({ visible: true, cancellable: true, isFailure: false })
  asking.enter('sk-wrong', 'browser')
  asking.heard(locked)
  asking.cancel()
  expect(key.value).toBe('sk-old')
  asking.change()
  asking.enter('sk-new', 'browser')
  asking.heard(listed)
  expect(asking.form(listed).visible).toBe(false)
  expect(key.value).toBe('sk-new')
})

test('a forgotten key is not sent any more', () => {
  const { gate: asking, key } = gate('sk-old')
  asking.forget()
  expect(key.headers()).toEqual({})
})
