import { expect, it } from 'vitest'
import { modelKind } from '../../resources/model.ts'
import { podKind } from '../../resources/pod.ts'
import { tableOf } from './table.ts'

const now = Date.UTC(2030, 0, 1)
const created = new Date(now - 7 * 60_000 - 12_000).toISOString()

it('shows a Pod as kubectl users know it', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'demo', creationTimestamp: created },
    spec: { containers: [{ name: 'main' }] },
    status: {
      phase: 'Running',
      podIP: '127.64.0.1',
      containerStatuses: [
        { name: 'main', ready: true, restartCount: 2, image: 'a', imageID: 'b', state: { running: {} } },
      ],
    },
  }
  const options = { now, include: 'Metadata', withColumns: true } as const
  expect(tableOf(podKind, [pod], { resourceVersion: '7' }, options)).toMatchObject({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '7' },
    columnDefinitions: [
      { name: 'Name', format: 'name', priority: 0 },
      { name: 'Ready' },
      { name: 'Status' },
      { name: 'Restarts' },
      { name: 'Age' },
      { name: 'IP', priority: 1 },
      { name: 'Node', priority: 1 },
      { name: 'Nominated Node', priority: 1 },
      { name: 'Readiness Gates', priority: 1 },
    ],
    rows: [
      {
        cells: ['web', '1/1', 'Running', '2', '7m12s', '127.64.0.1', '<none>', '<none>', '<none>'],
        object: { kind: 'PartialObjectMetadata', metadata: { namespace: 'demo' } },
      },
    ],
  })
})

it('leaves cells of our kinds empty where there is nothing, and the columns out when asked to', () => {
  const model = { apiVersion: 'sluice.dev/v1', kind: 'Model', metadata: { name: 'm' }, spec: { engine: 'VLLM' } }
  const table = tableOf(modelKind, [model], {}, { now, include: 'None', withColumns: false })
  expect(table['columnDefinitions']).toBeNull()
  expect(table['rows']).toEqual([
    { cells: ['m', null, null, null, null, null, null, 'VLLM', null, null, null, '<unknown>'] },
  ])
})
