import { expect, test } from 'vitest'
import type { ModelEntry, ModelPhase } from '../protocol/model-list.ts'
import { ModelPick } from './model-pick.ts'

const model = (id: string, phase: ModelPhase, more: Partial<ModelEntry> = {}): ModelEntry => ({
  id,
  phase,
  message: '',
  reason: '',
  features: ['TextGeneration'],
  ...more,
})

test('begins with the model of the last visit, else with the one that answers soonest', () => {
  const models = [model('a', 'Asleep'), model('b', 'Ready'), model('c', 'Waking')]
  expect(new ModelPick('a').current(models)?.id).toBe('a')
  expect(new ModelPick('gone').current(models)?.id).toBe('b')
  expect(new ModelPick('').current([])).toBeUndefined()
})

test('never begins with a broken model while there is another', () => {
  const failed = model('a', 'Failed')
  const hopeless = model('b', 'Asleep', { reason: 'FilesMissing' })
  const pick = new ModelPick('a')
  expect(pick.current([failed, hopeless, model('c', 'Asleep')])?.id).toBe('c')
  expect(pick.current([failed, hopeless])?.id).toBe('a')
  // Another list may have one that works.
  expect(pick.current([failed, model('b', 'Asleep')])?.id).toBe('b')
})

test('does not go back by itself when the wanted model works again', () => {
  const pick = new ModelPick('a')
  pick.current([model('a', 'Failed'), model('b', 'Asleep')])
  expect(pick.current([model('a', 'Ready'), model('b', 'Asleep')])?.id).toBe('b')
})

test('what somebody picked stays, even when it fails, until it is gone', () => {
  const pick = new ModelPick('')
  pick.decide('a')
  expect(pick.current([model('a', 'Failed'), model('b', 'Ready')])?.id).toBe('a')
  expect(pick.current([model('b', 'Ready')])?.id).toBe('b')
  pick.suggest('a')
  expect(pick.current([model('a', 'Failed'), model('b', 'Ready')])?.id).toBe('b')
})

test('models that do something else than chat are not picked', () => {
  const embeds = model('a', 'Ready', { features: ['TextEmbedding'] })
  expect(new ModelPick('a').current([embeds, model('b', 'Asleep')])?.id).toBe('b')
  expect(new ModelPick('a').current([embeds])).toBeUndefined()
})
