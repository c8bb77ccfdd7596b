import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { type ConfigMap, configMapKind } from '../../resources/config-map.ts'
import { eventKind } from '../../resources/event.ts'
import { modelKind } from '../../resources/model.ts'
import type { ClusterClient } from '../cluster-client.ts'
import { type ContractStage, refusal, take } from './contract-stage.contract.ts'
import { EventRecorder } from '../event-recorder.ts'
import { Informer } from '../informer.ts'

/** What is watched may come without the record of who wrote which field: nobody here reads it, and it is large. */
function withoutManagers(object: ConfigMap | undefined) {
  return object && { ...object, metadata: { ...object.metadata, managedFields: undefined } }
}

/** Watching, and what is built on it. */
export function watchContract(stage: ContractStage): void {
  let client: ClusterClient
  let namespace: string
  beforeEach(() => {
    client = stage.client
    namespace = stage.namespace
  })
  const configMap: ContractStage['configMap'] = (...args) => stage.configMap(...args)
  const model: ContractStage['model'] = (...args) => stage.model(...args)

  const watching = (options: {
    resourceVersion: string
    namespace?: string
    labels?: Record<string, string>
    fields?: Record<string, string>
  }) => client.watch(configMapKind, { namespace, ...options }, stage.signal)[Symbol.asyncIterator]()

  const lines = (events: ReadonlyArray<{ type: string; object: ConfigMap }>) =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`)

  describe('watch', () => {
    it('tells every change after a version, in order, and the last state of what was deleted', async () => {
      const created = await configMap('a', {}, 'one')
      const iterator = watching({ resourceVersion: created.metadata.resourceVersion ?? '' })
      const updated = await client.update(configMapKind, { ...created, data: { value: 'two' } })
      await configMap('b')
      await client.delete(configMapKind, { name: 'a', namespace })
      const seen = await take(iterator, 3)
      expect(lines(seen)).toEqual(['MODIFIED a', 'ADDED b', 'DELETED a'])
      expect(withoutManagers(seen[0]?.object)).toEqual(withoutManagers(updated))
      expect(seen[2]?.object.data).toEqual({ value: 'two' })
      const versions = seen.map(({ object }) => Number(object.metadata.resourceVersion))
      expect(versions.toSorted((left, right) => left - right)).toEqual(versions)
    })

    it('goes on from a list without gap or duplicate', async () => {
      await configMap('a')
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      await configMap('b')
      const iterator = watching({ resourceVersion })
      expect(lines(await take(iterator, 1))).toEqual(['ADDED b'])
      await configMap('c')
      expect(lines(await take(iterator, 1))).toEqual(['ADDED c'])
    })

    it('keeps to its namespace', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion })
      await client.create(configMapKind, { metadata: { name: `x-${namespace}`, namespace: 'default' } })
      await configMap('mine')
      expect(lines(await take(iterator, 1))).toEqual(['ADDED mine'])
    })

    it('shows an object that comes into the selection as added, and one that leaves it as deleted', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion, labels: { tier: 'x' } })
      const ref = { name: 'a', namespace }
      await configMap('a', { tier: 'other' })
      await configMap('never')
      await client.patch(configMapKind, ref, { metadata: { labels: { tier: 'x' } } })
      await client.patch(configMapKind, ref, { data: { value: 'inside' } })
      await client.patch(configMapKind, ref, { metadata: { labels: { tier: 'other' } } })
      await client.patch(configMapKind, ref, { data: { value: 'outside' } })
      await client.patch(configMapKind, ref, { metadata: { labels: { tier: 'x' } } })
      await client.delete(configMapKind, ref)
      expect(lines(await take(iterator, 5))).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a'])
    })

    it('shows only what the fields select', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion, fields: { 'metadata.name': 'b' } })
      await configMap('a')
      await configMap('b')
      expect(lines(await take(iterator, 1))).toEqual(['ADDED b'])
    })

    it('ends quietly when it is aborted', async () => {
      const { resourceVersion } = await client.list(configMapKind, { namespace })
      const iterator = watching({ resourceVersion })
      const waiting = take(iterator, 1)
      await configMap('a')
      expect(lines(await waiting)).toEqual(['ADDED a'])
      const next = take(iterator, 1)
      stage.finish()
      expect(await next).toEqual([])
    })

    it('says when a version is too old', async () => {
      const resourceVersion = await stage.cluster.expiredVersion()
      const iterator = client.watch(modelKind, { namespace, resourceVersion }, stage.signal)[Symbol.asyncIterator]()
      expect(await refusal(iterator.next())).toMatchObject({ reason: 'Expired', code: 410 })
    })

    it('refuses a version that is none', async () => {
      const error = await refusal(take(watching({ resourceVersion: 'yesterday' }), 1))
      expect(error.reason).not.toBe('Expired')
    })
  })

  describe('what stands on a client', () => {
    it('an informer has what is there and follows what changes', async () => {
      await configMap('a', { follow: 'yes' })
      await configMap('other')
      const informer = new Informer({
        client,
        kind: configMapKind,
        scope: { namespace, labels: { follow: 'yes' } },
        clock: systemClock,
        log: silentLogger,
      })
      const changes: string[] = []
      const seen = Promise.withResolvers<void>()
      informer.onChange(({ type, object }) => {
        changes.push(`${type} ${object.metadata.name}`)
        if (changes.length === 4) seen.resolve()
      })
      const running = informer.run(stage.signal)
      await informer.whenSynced()
      expect(informer.list().map((object) => object.metadata.name)).toEqual(['a'])
      await configMap('b', { follow: 'yes' })
      await client.patch(configMapKind, { name: 'b', namespace }, { data: { value: 'changed' } })
      await client.delete(configMapKind, { name: 'a', namespace })
      await seen.promise
      expect(changes).toEqual(['added a', 'added b', 'updated b', 'deleted a'])
      expect(informer.get({ name: 'b', namespace })?.data).toEqual({ value: 'changed' })
      stage.finish()
      await running
    })

    it('an event recorder tells what happened, and counts what happens again', async () => {
      const about = await model('m')
      const recorder = new EventRecorder({ client, component: 'contract', clock: systemClock, log: silentLogger })
      recorder.record(about, 'Normal', 'Woken', 'a request arrived')
      recorder.record(about, 'Normal', 'Woken', 'a request arrived')
      recorder.record(about, 'Warning', 'Failed', 'no card is free')
      await recorder.idle()
      const { items } = await client.list(eventKind, { namespace })
      expect(items.map(({ type, reason, count }) => ({ type, reason, count }))).toEqual(
        expect.arrayContaining([
          { type: 'Normal', reason: 'Woken', count: 2 },
          { type: 'Warning', reason: 'Failed', count: 1 },
        ]),
      )
      expect(items).toHaveLength(2)
      expect(items[0]?.involvedObject).toMatchObject({ kind: 'Model', name: 'm', uid: about.metadata.uid })
    })
  })
}
