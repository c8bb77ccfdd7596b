import { expect, test } from 'vitest'
import { canDo, isBroken, parseModelList } from './model-list.ts'

test('reads the models with their state', () => {
  const data = [
    { id: 'smollm2', object: 'model', sluice: { phase: 'Asleep' } },
    { id: 'qwen', object: 'model', sluice: { phase: 'Failed', message: 'no card is free' } },
  ]
  expect(parseModelList({ object: 'list', data })).toEqual([
    { id: 'smollm2', phase: 'Asleep', message: '', reason: '', features: [] },
    { id: 'qwen', phase: 'Failed', message: 'no card is free', reason: '', features: [] },
  ])
})

test('works at a server that tells no state, or one that is not known', () => {
  expect(parseModelList({ data: [{ id: 'a' }, { id: 'b', sluice: { phase: 'Dancing' } }] })).toEqual([
    { id: 'a', phase: 'Unknown', message: '', reason: '', features: [] },
    { id: 'b', phase: 'Unknown', message: '', reason: '', features: [] },
  ])
})

test('knows a model that asking cannot help, and what a model can do', () => {
  const state = (sluice: object) => parseModelList({ data: [{ id: 'a', sluice }] })?.[0]
  const broken = (sluice: object) => isBroken(state(sluice) ?? { phase: 'Unknown', reason: '' })
  expect(broken({ phase: 'Failed' })).toBe(true)
  expect(broken({ phase: 'Asleep', reason: 'FilesMissing' })).toBe(true)
  expect(broken({ phase: 'Asleep', reason: 'FilesOnTheirWay' })).toBe(false)
  expect(broken({ phase: 'Waking', reason: 'CrashLoopBackOff' })).toBe(false)
  const features = (list: unknown) => {
    const model = state({ phase: 'Ready', features: list })
    if (model === undefined) throw new Error('no model')
    return [canDo(model, 'TextGeneration'), canDo(model, 'SpeechToText')]
  }
  expect(features(undefined)).toEqual([true, false])
  expect(features(['SpeechToText'])).toEqual([false, true])
  expect(features([7, 'TextGeneration'])).toEqual([true, false])
})

test('passes over what has no name or has it twice', () => {
  expect(parseModelList({ data: [null, {}, { id: '' }, { id: 'a' }, { id: 'a' }] })).toHaveLength(1)
})

test('a body that is no list is not an empty list', () => {
  for (const body of [undefined, null, [], {}, { data: {} }]) expect(parseModelList(body)).toBeUndefined()
  expect(parseModelList({ data: [] })).toEqual([])
})
