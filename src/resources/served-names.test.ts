import { describe, expect, it } from 'vitest'
import { modelSchema } from './model.ts'
import { servedNames, takenNames } from './served-names.ts'

function model(name: string, createdAt: number, spec: object = {}) {
  const creationTimestamp = `2030-01-01T00:00:0${createdAt}Z`
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name, namespace: 'sluice', creationTimestamp },
    spec: { url: 'pvc://userdata/x', engine: 'VLLM', ...spec },
  })
}

describe('names of Models', () => {
  const young = model('young', 2, { aliases: ['gpt', 'old', 'mine'] })
  const old = model('old', 1, { aliases: ['gpt'], adapters: [{ name: 'sql', url: 'pvc://userdata/sql' }] })
  const twin = model('a-twin', 1, { aliases: ['gpt'] })

  it('are those of the Models themselves first, then those of the oldest, in whatever order they come', () => {
    for (const models of [
      [young, old, twin],
      [twin, old, young],
    ]) {
      const found = [...servedNames(models)].map(([name, { model: of, engineName }]) => [name, of, engineName])
      expect(Object.fromEntries(found.map(([name, ...rest]) => [name, rest]))).toEqual({
        young: ['young', 'young'],
        old: ['old', 'old'],
        'a-twin': ['a-twin', 'a-twin'],
        old_sql: ['old', 'old_sql'],
        gpt: ['a-twin', 'a-twin'],
        mine: ['young', 'young'],
      })
    }
  })

  it('that others have are told', () => {
    expect(takenNames(young, [young, old])).toEqual([
      { name: 'gpt', by: 'old' },
      { name: 'old', by: 'old' },
    ])
    expect(takenNames(old, [young, old])).toEqual([])
    expect(takenNames(young, [young])).toEqual([])
  })

  it.each([['-x'], ['a b'], ['x'.repeat(201)], ['a\nb'], ['ü']])('cannot be %j', (alias) => {
    expect(() => model('m', 1, { aliases: [alias] })).toThrow(/must be letters/)
  })

  it.each([['a_b'], ['A'], ['']])('of adapters cannot be %j', (name) => {
    expect(() => model('m', 1, { adapters: [{ name, url: 'pvc://userdata/a' }] })).toThrow(/must be lower case/)
  })
})
