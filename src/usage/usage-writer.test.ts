import { beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type ServedUsage, mostUsageEntries, usageRecordKind } from '../resources/usage-record.ts'
import { noneServed, summarizeUsage } from '../resources/usage-summary.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { UsageWriter } from './usage-writer.ts'

const namespace = 'sluice'
const served = (model: string, key?: string): ServedUsage => ({
  model,
  ...(key === undefined ? {} : { key }),
  ...noneServed(),
  requests: 1,
  promptTokens: 10,
})
const never = new AbortController().signal
const minuteMs = 60_000

describe('UsageWriter', () => {
  let clock: FakeClock
  let client: EmbeddedClient
  let writes: number
  /** What becomes of the next writes: they are made or not, and their answers are lost. */
  let faults: Array<'not made' | 'made, answer lost'>
  let runs: number
  let failures: number

  beforeEach(async () => {
    clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
    client = new EmbeddedClient(
      new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock }),
    )
    await client.create(namespaceKind, { metadata: { name: namespace } })
    writes = 0
    faults = []
    runs = 0
    failures = 0
  })

  async function faulty<T>(write: () => Promise<T>): Promise<T> {
    const fault = faults.shift()
    if (fault === 'not made') throw new Error('the connection was refused')
    const written = await write()
    writes++
    if (fault) throw new Error('the connection was cut')
    return written
  }
  const start = (writer = 'gateway-a', itsClock = clock) =>
    new UsageWriter({
      client: {
        get: (kind, ref) => client.get(kind, ref),
        create: (kind, object) => faulty(() => client.create(kind, object)),
        update: (kind, object) => faulty(() => client.update(kind, object)),
      },
      namespace,
      writer,
      run: `run-${++runs}`,
      clock: itsClock,
      log: silentLogger,
      onFailure: () => failures++,
      random: () => 0,
    })
  const records = async () => (await client.list(usageRecordKind, { namespace })).items
  const requests = async () => summarizeUsage(await records(), { since: '2030-01-01', by: [] }).total.requests

  it('shows what comes after a pause almost at once, and writes every ten seconds while more comes', async () => {
    const writer = start()
    writer.addServed([served('tiny')])
    await clock.advance(2_000)
    expect([writes, await requests()]).toEqual([1, 1])
    for (let second = 0; second < 120; second++) {
      writer.addServed([served('tiny')])
      await clock.advance(1_000)
    }
    expect(writes).toBe(12)
    await clock.advance(minuteMs)
    expect(await requests()).toBe(121)
    expect(clock.pendingTimers).toBe(0)
  })

  it('writes what is left when it stops', async () => {
    const writer = start()
    writer.addServed([served('tiny')])
    await writer.stop(never)
    expect([await requests(), clock.pendingTimers]).toEqual([1, 0])
  })

  it('goes on in its record after a restart, whether it could stop or was killed', async () => {
    for (let run = 0; run < 3; run++) {
      const writer = start()
      writer.addServed([served('tiny', 'key')])
      await clock.advance(2_000)
    }
    expect(await records()).toMatchObject([
      {
        metadata: { name: '2030-01-01-gateway-a' },
        spec: { day: '2030-01-01', writer: 'gateway-a', served: [{ model: 'tiny', key: 'key', requests: 3 }] },
      },
    ])
  })

  it('shares no record with another writer', async () => {
    for (const name of ['gateway-a', 'gateway-b']) start(name).addServed([served('tiny')])
    await clock.advance(2_000)
    expect((await records()).map(({ metadata }) => metadata.name)).toEqual([
      '2030-01-01-gateway-a',
      '2030-01-01-gateway-b',
    ])
    expect(await requests()).toBe(2)
  })

  it('keeps what could not be written and tries again, ever more rarely', async () => {
    faults = ['not made', 'not made', 'not made']
    const writer = start()
    writer.addServed([served('tiny')])
    await clock.advance(2_000)
    writer.addServed([served('tiny')])
    // Half of two, four and eight seconds.
    await clock.advance(1_000 + 2_000 + 3_999)
    expect(await requests()).toBe(0)
    await clock.advance(1)
    expect([await requests(), failures]).toEqual([2, 3])
  })

  it('counts nothing twice when a write was made and its answer lost', async () => {
    faults = ['made, answer lost', 'made, answer lost']
    const writer = start()
    for (let count = 0; count < 5; count++) {
      writer.addServed([served('tiny')])
      await clock.advance(minuteMs)
    }
    expect(await requests()).toBe(5)
  })

  it('writes one batch after the other, however long one takes', async () => {
    const slow = Promise.withResolvers<void>()
    const get = client.get.bind(client)
    let asked = 0
    client.get = async (...words) => {
      if (++asked === 1) await slow.promise
      return get(...words)
    }
    const writer = start()
    for (let second = 0; second < 60; second++) {
      writer.addServed([served('tiny')])
      await clock.advance(1_000)
    }
    expect(asked).toBe(1)
    slow.resolve()
    await writer.stop(never)
    expect(await requests()).toBe(60)
  })

  it('counts nothing twice when it was killed before the answer to its last write, and is started again', async () => {
    faults = ['made, answer lost']
    // Its time stands still from then on: it was killed.
    const itsClock = new FakeClock(clock.now())
    start('gateway-a', itsClock).addServed([served('tiny')])
    await itsClock.advance(2_000)
    const again = start()
    again.addServed([served('tiny')])
    await again.stop(never)
    await clock.advance(minuteMs)
    expect(await requests()).toBe(2)
  })

  it('begins a record for each day', async () => {
    const writer = start()
    writer.addServed([served('tiny')])
    await clock.advance(12 * 60 * minuteMs)
    writer.addServed([served('tiny')])
    await clock.advance(minuteMs)
    expect((await records()).map(({ spec }) => spec.day)).toEqual(['2030-01-01', '2030-01-02'])
  })

  it('holds a bounded number of days while nothing can be written, and loses nothing of them', async () => {
    const writer = start()
    faults = Array.from({ length: 100_000 }, () => 'not made' as const)
    for (let day = 0; day < 11; day++) {
      writer.addServed([served('tiny')])
      await clock.advance(24 * 60 * minuteMs)
    }
    faults = []
    await writer.stop(never)
    // The batch that was begun, and those that wait.
    expect((await records()).length).toBe(9)
    expect(await requests()).toBe(11)
  })

  it('tells a bounded number of models and keys apart, and adds up the others', async () => {
    const writer = start()
    const most = mostUsageEntries + 500
    for (let count = 0; count < most; count++) writer.addServed([served('tiny', `key-${count}`)])
    await clock.advance(2_000)
    for (let count = 0; count < most; count++) writer.addServed([served('tiny', `other-${count}`)])
    await clock.advance(minuteMs)
    const [record] = await records()
    expect(record?.spec.served).toHaveLength(mostUsageEntries + 1)
    expect(record?.spec.served.at(-1)).toMatchObject({ model: '*', key: '*', requests: 500 + most })
    expect(await requests()).toBe(2 * most)
  })

  it('writes rarely while only what sleeping saves grows, and soon when cards are held', async () => {
    const writer = start('controller')
    const sleep = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        writer.addCards([{ model: 'tiny', seconds: 0, savedSeconds: 60 }])
        await clock.advance(minuteMs)
      }
    }
    await sleep(28)
    expect(writes).toBe(0)
    await sleep(2)
    expect(writes).toBe(1)
    writer.addCards([{ model: 'tiny', seconds: 0.1 + 0.2, savedSeconds: 0 }])
    await clock.advance(minuteMs)
    expect((await records())[0]?.spec.cards).toEqual([{ model: 'tiny', seconds: 0.3, savedSeconds: 1_800 }])
  })
})
