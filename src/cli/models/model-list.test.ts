import { describe, expect, it } from 'vitest'
import { modelKind } from '../../resources/model.ts'
import { renderList } from '../output/print-output.ts'
import { modelListing } from './model-list.ts'

const spec = { url: 'pvc://userdata/m', engine: 'LlamaCpp' }
const model = (name: string, status?: object) =>
  modelKind.schema.parse({ apiVersion: 'sluice.dev/v1', kind: 'Model', metadata: { name }, spec, status })

describe('sluice model list', () => {
  it('says how far those are that load', async () => {
    const loading = { phase: 'Reading', percent: 45, progress: '45 %', since: '', movedAt: '' }
    const big = model('big', { phase: 'Waking', replicas: 1, readyReplicas: 0, message: 'Reading.', loading })
    expect((await renderList([big, model('new')], modelListing, undefined)).text.trimEnd().split('\n')).toEqual([
      'NAME   PHASE    LOADING   READY   ENGINE     MESSAGE',
      'big    Waking   45 %      0/1     LlamaCpp   Reading.',
      'new    Asleep             0/0     LlamaCpp',
    ])
  })

  it('says when there are none', async () => {
    expect((await renderList([], modelListing, undefined)).hint).toContain('no models')
  })
})
