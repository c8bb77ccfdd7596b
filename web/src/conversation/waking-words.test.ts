import { expect, test } from 'vitest'
import { wakingSentence, withoutPodNames } from './waking-words.ts'
import { parseModelList } from '../protocol/model-list.ts'

const entry = (sluice: object) => {
  const model = parseModelList({ data: [{ id: 'big', sluice }] })?.[0]
  if (model === undefined) throw new Error('no model')
  return model
}

test.each([
  [{ reason: 'Starting' }, 'The program that runs it is being started.'],
  [{ reason: 'NoRoom', lastLoadSeconds: 90 }, /^It waits for room.* Last time it took about 2 min\.$/],
  [{ reason: 'Loading', loading: { phase: 'Reading', percent: 45 } }, 'Reading its files: 45 %.'],
  [{ reason: 'SomethingNew', lastLoadSeconds: 42 }, 'Last time it took about 42 s.'],
  [{}, ''],
])('%j is told in plain words', (state, words) => {
  expect(wakingSentence(entry({ phase: 'Waking', message: 'in model-big-0b1f2-x7k2p', ...state }))).toMatch(words)
})

test.each([
  ['The model has been loading in model-big-0b1f2-x7k2p for 12 min.', 'The model has been loading for 12 min.'],
  ['model-big-0b1f2-x7k2p is starting.', 'It is starting.'],
  ['Waking, model-big-0b1f2-x7k2p failed: exit code 1.', 'Waking, it failed: exit code 1.'],
  ['It ended. model-big-0b1f2-x7k2p failed', 'It ended. It failed'],
  ['The engine ended in model-big-2.5-0b1f2-x7k2p-0.', 'The engine ended.'],
  ['There are no files at pvc://userdata/model-big.', 'There are no files at pvc://userdata/model-big.'],
])('%s', (said, shown) => {
  expect(withoutPodNames(said)).toBe(shown)
})
