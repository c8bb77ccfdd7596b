import { expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { usageRecordKind } from '../resources/usage-record.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { UsageExpiry } from './usage-expiry.ts'

const namespace = 'sluice'
const hourMs = 3_600_000

it('deletes records that are older than they are to be kept, also after a time without an API server', async () => {
  const clock = new FakeClock(Date.UTC(2030, 0, 31, 12))
  const client = new EmbeddedClient(
    new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock }),
  )
  await client.create(namespaceKind, { metadata: { name: namespace } })
  for (const day of ['2029-12-31', '2030-01-01', '2030-01-31']) {
    const spec = { day, writer: 'gateway', lastWrite: { run: 'a', number: 1 } }
    await client.create(usageRecordKind, { metadata: { name: `${day}-gateway`, namespace }, spec })
  }
  let answers = false
  const expiry = new UsageExpiry({
    client: {
      list: (kind, options) => (answers ? client.list(kind, options) : Promise.reject(new Error('no answer'))),
      delete: (kind, ref, options) => client.delete(kind, ref, options),
    },
    namespace,
    retentionDays: 30,
    clock,
    log: silentLogger,
  })
  const days = async () => (await client.list(usageRecordKind, { namespace })).items.map(({ spec }) => spec.day)
  expiry.start()
  await clock.advance(hourMs)
  expect(await days()).toHaveLength(3)
  answers = true
  await clock.advance(6 * hourMs)
  expect(await days()).toEqual(['2030-01-01', '2030-01-31'])
  await clock.advance(24 * hourMs)
  expect(await days()).toEqual(['2030-01-31'])
  await expiry.stop()
  expect(clock.pendingTimers).toBe(0)
})
