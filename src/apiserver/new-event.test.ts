import { expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { coreKinds } from '../resources/all-kinds.ts'
import { eventKind } from '../resources/event.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { newEventKind } from '../resources/new-event.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ClusterApi } from './cluster-api.ts'
import { parseFieldSelector } from './reading/field-selector.ts'
import { tableOf } from './answers/table.ts'

it('shows the same events under both groups', async () => {
  const clock = new FakeClock()
  const api = new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock })
  await api.create(namespaceKind, undefined, { metadata: { name: 'demo' } })
  const regarding = { kind: 'Pod', namespace: 'demo', name: 'web' }
  await api.create(newEventKind, 'demo', {
    metadata: { name: 'e' },
    regarding,
    note: 'woke up',
    reason: 'Woken',
    type: 'Normal',
    eventTime: '2030-01-01T00:00:00.000000Z',
    reportingController: 'sluice.dev/autoscaler',
    reportingInstance: 'one',
    action: 'Wake',
  })
  const ref = { name: 'e', namespace: 'demo' }
  expect(api.get(eventKind, ref)).toMatchObject({
    apiVersion: 'v1',
    kind: 'Event',
    involvedObject: regarding,
    message: 'woke up',
    reportingComponent: 'sluice.dev/autoscaler',
  })
  await api.patch(eventKind, ref, (current) => ({ ...current, message: 'fell asleep' }))
  const seen = api.get(newEventKind, ref)
  expect(seen).toMatchObject({ apiVersion: 'events.k8s.io/v1', regarding, note: 'fell asleep' })
  expect(seen['message']).toBeUndefined()
  const fields = parseFieldSelector(newEventKind, 'regarding.name=web,type=Normal')
  expect(api.list(newEventKind, { namespace: 'demo', fields }).items).toEqual([seen])
  const options = { now: Date.UTC(2030, 0, 1, 0, 1), include: 'None', withColumns: false } as const
  expect(tableOf(newEventKind, [seen], {}, options)['rows']).toEqual([
    {
      cells: ['60s', 'Normal', 'Woken', 'pod/web', '', 'sluice.dev/autoscaler, one', 'fell asleep', '60s', 1, 'e'],
    },
  ])
})
