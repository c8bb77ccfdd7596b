import { describe, expect, it } from 'vitest'
import type { Model } from '../resources/model.ts'
import { FakeCache, fakeModel } from './cluster-view.fixture.ts'
import { ClusterModelCatalog } from './model-catalog.ts'

describe('ClusterModelCatalog', () => {
  it("lists the Models of the gateway's namespace by name, with what they say of themselves", () => {
    const models = new FakeCache<Model>()
    models.put(fakeModel('zebra', 'Failed', 'no card is free'))
    const fresh = fakeModel('ant')
    delete fresh.status
    models.put(fresh)
    const elsewhere = fakeModel('other')
    models.put({ ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'default' } })
    const catalog = new ClusterModelCatalog({ models, namespace: 'sluice' })
    const createdAtMs = Date.UTC(2030, 0, 1)
    const features = ['TextGeneration']
    expect(catalog.list().map(({ model }) => model)).toEqual([
      { name: 'ant', owner: 'somebody', createdAtMs, phase: 'Asleep', message: undefined, features },
      { name: 'zebra', owner: 'somebody', createdAtMs, phase: 'Failed', message: 'no card is free', features },
    ])
    expect(catalog.get('zebra')?.phase).toBe('Failed')
    expect(catalog.get('other')).toBeUndefined()
  })

  it('finds Models by their other names, as these come and go', () => {
    const models = new FakeCache<Model>()
    const ant = fakeModel('ant')
    models.put(ant)
    const catalog = new ClusterModelCatalog({ models, namespace: 'sluice' })
    expect(catalog.find('insect')).toBeUndefined()
    const adapters = [{ name: 'red', url: 'pvc://userdata/red' }]
    models.put({ ...ant, spec: { ...ant.spec, aliases: ['insect'], adapters } })
    expect(catalog.find('insect')).toMatchObject({ model: { name: 'ant' }, engineName: 'ant' })
    expect(catalog.find('ant_red')).toMatchObject({ model: { name: 'ant' }, engineName: 'ant_red' })
    expect(catalog.list().map(({ id, kind }) => [id, kind])).toEqual([
      ['ant', 'model'],
      ['ant_red', 'adapter'],
      ['insect', 'alias'],
    ])
    models.put(fakeModel('insect'))
    expect(catalog.find('insect')?.model.name).toBe('insect')
    models.remove({ name: 'insect', namespace: 'sluice' })
    expect(catalog.find('insect')?.model.name).toBe('ant')
    models.put(ant)
    expect(catalog.find('insect')).toBeUndefined()
  })
})
