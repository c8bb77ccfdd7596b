import { expect, test } from 'vitest'
import { parseModelList } from './model-list.ts'

test('reads the models with their state', () => {
  const data = [
    { id: 'smollm2', object: 'model', sluice: { phase: 'Asleep' } },
    { id: 'qwen', object: 'model', sluice: { phase: 'Failed', message: 'no card is free' } },
  ]
  expect(parseModelList({ object: 'list', data })).toEqual([
    { id: 'smollm2', phase: 'Asleep', message: '' },
    { id: 'qwen', phase: 'Failed', message: 'no card is free' },
  ])
})

test('works at a server that tells no state, or one that is not known', () => {
  expect(parseModelList({ data: [{ id: 'a' }, { id: 'b', sluice: { phase: 'Dancing' } }] })).toEqual([
    { id: 'a', phase: 'Unknown', message: '' },
    { id: 'b', phase: 'Unknown', message: '' },
  ])
})

test('passes over what has no name or has it twice', () => {
  expect(parseModelList({ data: [null, {}, { id: '' }, { id: 'a' }, { id: 'a' }] })).toHaveLength(1)
})

test('a body that is no list is not an empty list', () => {
  for (const body of [undefined, null, [], {}, { data: {} }]) expect(parseModelList(body)).toBeUndefined()
  expect(parseModelList({ data: [] })).toEqual([])
})
