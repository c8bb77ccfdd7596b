import { beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds } from '../resources/all-kinds.ts'
import { type ConfigMap, configMapKind } from '../resources/config-map.ts'
import { eventKind } from '../resources/event.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { refOf } from '../resources/kubernetes-object.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { controllerFigures } from './controller-figures.ts'
import { EmbeddedClient } from './embedded-client.ts'
import { EventRecorder } from './event-recorder.ts'

describe('EventRecorder', () => {
  let clock: FakeClock
  let client: EmbeddedClient
  let recorder: EventRecorder
  let about: ConfigMap

  beforeEach(async () => {
    clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
    client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock }))
    for (const name of ['default', 'home']) await client.create(namespaceKind, { metadata: { name } })
    about = await client.create(configMapKind, { metadata: { name: 'thing', namespace: 'home' } })
    recorder = new EventRecorder({ client, component: 'tester', clock, log: silentLogger })
  })

  const events = async () => (await client.list(eventKind)).items

  it('writes who saw what about whom, and when', async () => {
    recorder.record(about, 'Warning', 'Broken', 'it does not turn')
    await recorder.idle()
    expect(await events()).toMatchObject([
      {
        metadata: { namespace: 'home', name: expect.stringMatching(/^thing\.[0-9a-f]{16}$/) },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: 'thing',
          namespace: 'home',
          uid: about.metadata.uid,
        },
        type: 'Warning',
        reason: 'Broken',
        message: 'it does not turn',
        source: { component: 'tester' },
        count: 1,
        firstTimestamp: '2030-01-01T12:00:00Z',
        lastTimestamp: '2030-01-01T12:00:00Z',
      },
    ])
  })

  it('counts the same up, however long ago it was', async () => {
    recorder.record(about, 'Normal', 'Turned', 'once more')
    await clock.advance(9 * 60_000)
    recorder.record(about, 'Normal', 'Turned', 'once more')
    await recorder.idle()
    expect(await events()).toMatchObject([
      { count: 2, firstTimestamp: '2030-01-01T12:00:00Z', lastTimestamp: '2030-01-01T12:09:00Z' },
    ])
    await clock.advance(40 * 60_000)
    recorder.record(about, 'Normal', 'Turned', 'once more')
    await recorder.idle()
    expect(await events()).toMatchObject([{ count: 3, lastTimestamp: '2030-01-01T12:49:00Z' }])
  })

  it('writes once what happens often before it is written, with its count', async () => {
    for (let count = 0; count < 20; count += 1) recorder.record(about, 'Normal', 'Turned', 'once more')
    await recorder.idle()
    expect(await events()).toMatchObject([{ count: 20 }])
  })

  it('begins anew when its event was deleted', async () => {
    recorder.record(about, 'Normal', 'Turned', 'once more')
    await recorder.idle()
    const [written] = await events()
    if (written) await client.delete(eventKind, refOf(written))
    recorder.record(about, 'Normal', 'Turned', 'once more')
    await recorder.idle()
    expect(await events()).toMatchObject([{ count: 1 }])
  })

  it('puts what happens to things without a namespace into "default"', async () => {
    const space = await client.get(namespaceKind, { name: 'home' })
    if (space) recorder.record(space, 'Normal', 'Seen', 'there it is')
    await recorder.idle()
    expect(await events()).toMatchObject([
      { metadata: { namespace: 'default' }, involvedObject: { kind: 'Namespace' } },
    ])
  })

  it('drops what the cluster does not take, and goes on', async () => {
    recorder.record(
      { ...about, metadata: { ...about.metadata, namespace: 'nowhere' } },
      'Normal',
      'Lost',
      'nobody hears',
    )
    recorder.record(about, 'Normal', 'Heard', 'somebody does')
    await recorder.idle()
    expect((await events()).map(({ reason }) => reason)).toEqual(['Heard'])
  })

  it('says a few things about an object whose every message is another one, not 66,000', async () => {
    for (let minute = 0; minute < 10; minute += 1) {
      for (let count = 0; count < 1_000; count += 1) {
        recorder.record(about, 'Warning', 'FailedCreatePodSandBox', `no address is left: 127.64.${minute}.${count}`)
      }
      await clock.advance(60_000)
    }
    await recorder.idle()
    const written = await events()
    expect(written).toHaveLength(10)
    const combined = written.filter(({ message }) => message?.startsWith('(combined from similar events): '))
    expect(combined).toHaveLength(1)
  })

  it('holds a bounded number of events that wait', async () => {
    const dropped = () => controllerFigures.eventsDropped.counts.get('tester') ?? 0
    const before = dropped()
    for (let count = 0; count < 1_000; count += 1) {
      const metadata = { ...about.metadata, name: `n-${count}`, uid: `u-${count}` }
      recorder.record({ ...about, metadata }, 'Normal', 'Flood', 'one of many')
    }
    await recorder.idle()
    const written = (await events()).length
    expect(written).toBeGreaterThan(200)
    expect(written).toBeLessThan(300)
    expect(dropped() - before).toBe(1_000 - written)
  })
})
