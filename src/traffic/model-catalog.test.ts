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
    expect(catalog.list()).toEqual([
      { name: 'ant', owner: 'somebody', createdAtMs, phase: 'Asleep', message: undefined },
      { name: 'zebra', owner: 'somebody', createdAtMs, phase: 'Failed', message: 'no card is free' },
    ])
    expect(catalog.get('zebra')?.phase).toBe('Failed')
    expect(catalog.get('other')).toBeUndefined()
  })
})
