import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { eventKind } from '../../resources/event.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { EventExpiry, type EventLimits, expiry, lastChangeOf } from './event-expiry.ts'

const minute = 60_000
const namespace = 'default'

let clock: FakeClock
let client: EmbeddedClient
let stop: AbortController
let running: Promise<void> | undefined

beforeEach(async () => {
  clock = new FakeClock(Date.UTC(2030, 0, 1, 12))
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock }))
  await client.create(namespaceKind, { metadata: { name: namespace } })
  stop = new AbortController()
})

afterEach(async () => {
  stop.abort()
  await running
})

function start(most = 10_000, mostPerNamespace = most): void {
  run({ ttlMs: 60 * minute, most, mostPerNamespace })
}

function run(limits: Partial<EventLimits>): void {
  running = new EventExpiry({ client, clock, log: silentLogger, limits }).run(stop.signal)
}

const record = (name: string, where = namespace) =>
  client.create(eventKind, {
    metadata: { name, namespace: where },
    involvedObject: { kind: 'Pod', namespace: where, name: 'p' },
    reason: 'Seen',
    lastTimestamp: timestamp(clock.now()),
  })
const left = async () => (await client.list(eventKind)).items.map(({ metadata }) => metadata.name)

describe('Events', () => {
  it('go sooner where somebody wants them for less than an hour', async () => {
    await record('old')
    run({ ttlMs: 10 * minute })
    await clock.advance(9 * minute)
    await record('new')
    await clock.advance(3 * minute)
    expect(await left()).toEqual(['new'])
  })

  it('go an hour after they were last counted', async () => {
    await record('old')
    await record('busy')
    start()
    await clock.advance(30 * minute)
    const again = { count: 2, lastTimestamp: timestamp(clock.now()) }
    await client.patch(eventKind, { namespace, name: 'busy' }, again)
    await clock.advance(29 * minute)
    expect(await left()).toEqual(['busy', 'old'])
    await clock.advance(3 * minute)
    expect(await left()).toEqual(['busy'])
    await clock.advance(30 * minute)
    expect(await left()).toEqual([])
  })

  it('that are too many go from the oldest on, a few at a time with pauses', async () => {
    for (let index = 0; index < 500; index += 1) {
      await record(`n-${String(index).padStart(3, '0')}`)
      if (index % 100 === 99) await clock.advance(1_000)
    }
    start(150)
    await clock.advance(0)
    await clock.advance(0)
    expect((await left()).length).toBe(400)
    await clock.advance(1_000)
    const rest = await left()
    expect(rest).toHaveLength(150)
    expect(rest.filter((name) => name >= 'n-400')).toHaveLength(100)
  })

  it('of a busy namespace make room there, before those of a quiet one go', async () => {
    await client.create(namespaceKind, { metadata: { name: 'quiet' } })
    await record('quiet', 'quiet')
    await clock.advance(1_000)
    for (let index = 0; index < 12; index += 1) {
      await record(`n-${String(index).padStart(2, '0')}`)
      await clock.advance(1_000)
    }
    start(100, 5)
    await clock.advance(1_000)
    expect(await left()).toEqual(['n-07', 'n-08', 'n-09', 'n-10', 'n-11', 'quiet'])
  })
})

describe('the age of an Event', () => {
  const now = Date.UTC(2030, 0, 1, 12)
  const event = (fields: object) => ({
    apiVersion: 'v1' as const,
    kind: 'Event' as const,
    metadata: { name: 'e', namespace, creationTimestamp: timestamp(now - 5 * minute) },
    involvedObject: {},
    ...fields,
  })

  it('is that of its last time that is not to come', () => {
    expect(lastChangeOf(event({}), now)).toBe(now - 5 * minute)
    expect(lastChangeOf(event({ lastTimestamp: timestamp(now - minute) }), now)).toBe(now - minute)
    expect(lastChangeOf(event({ series: { lastObservedTime: timestamp(now) } }), now)).toBe(now)
    expect(lastChangeOf(event({ lastTimestamp: '2099-01-01T00:00:00Z', eventTime: 'never' }), now)).toBe(
      now - 5 * minute,
    )
  })

  it('of those of the same second only as many go as are too many', () => {
    const times = Float64Array.from([5, 7, 7, 7, 9])
    const isExpired = expiry(times, 10, { ttlMs: 100, most: 3 })
    expect([...times].map((time) => isExpired(time))).toEqual([true, true, false, false, false])
    const none = expiry(times, 10, { ttlMs: 100, most: 5 })
    expect([...times].some((time) => none(time))).toBe(false)
  })
})
