import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { type ConfigMap, configMapKind } from '../resources/config-map.ts'
import { StatusError } from '../resources/status-error.ts'
import type { ClusterClient, ListOptions, ObjectList, WatchEvent, WatchOptions } from './cluster-client.ts'
import { Informer } from './informer.ts'

type Event = WatchEvent<ConfigMap>

const object = (name: string, version: number, uid = `uid-${name}`): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', uid, resourceVersion: String(version) },
})

/** A cluster whose answers a test scripts beforehand; a watch without an answer stays open. */
class ScriptedCluster {
  readonly asked: string[] = []
  readonly lists: Array<ObjectList<ConfigMap> | Error> = []
  readonly watches: Array<ReadonlyArray<Event | Error>> = []

  get client(): ClusterClient {
    const refuse = () => Promise.reject(new Error('not in this test'))
    return {
      get: refuse,
      create: refuse,
      update: refuse,
      updateStatus: refuse,
      patch: refuse,
      delete: refuse,
      scale: refuse,
      list: (_kind: unknown, options?: ListOptions) => this.#list(options),
      watch: (_kind: unknown, options: WatchOptions, signal: AbortSignal) => this.#watch(options, signal),
    } as unknown as ClusterClient
  }

  async #list(options: ListOptions = {}): Promise<ObjectList<ConfigMap>> {
    this.asked.push(`list ${options.namespace ?? '*'}`)
    const answer = this.lists.shift() ?? { items: [], resourceVersion: '0' }
    if (answer instanceof Error) throw answer
    return answer
  }

  async *#watch({ resourceVersion }: WatchOptions, signal: AbortSignal): AsyncGenerator<Event> {
    this.asked.push(`watch ${resourceVersion}`)
    const script = this.watches.shift()
    if (!script) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return
    }
    for (const event of script) {
      if (event instanceof Error) throw event
      yield event
    }
  }
}

describe('Informer', () => {
  let clock: FakeClock
  let cluster: ScriptedCluster
  let informer: Informer<ConfigMap>
  let changes: string[]
  let stop: AbortController
  let running: Promise<void>

  beforeEach(() => {
    clock = new FakeClock()
    cluster = new ScriptedCluster()
    stop = new AbortController()
    changes = []
    informer = new Informer({
      client: cluster.client,
      kind: configMapKind,
      scope: { namespace: 'default' },
      clock,
      log: silentLogger,
      random: () => 0,
    })
    informer.onChange(({ type, object: { metadata }, previous }) => {
      changes.push(
        `${type} ${metadata.name}@${metadata.resourceVersion} was ${previous?.metadata.resourceVersion ?? '-'}`,
      )
    })
  })
  afterEach(async () => {
    stop.abort()
    await running
  })

  async function run(ms = 0): Promise<void> {
    running = informer.run(stop.signal)
    await clock.advance(ms)
  }

  it('has what was listed once it is synced', async () => {
    cluster.lists.push({ items: [object('a', 1), object('b', 2)], resourceVersion: '7' })
    expect(informer.synced).toBe(false)
    await run()
    await informer.whenSynced()
    expect(informer.synced).toBe(true)
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(informer.get({ namespace: 'default', name: 'b' })?.metadata.resourceVersion).toBe('2')
    expect(changes).toEqual(['added a@1 was -', 'added b@2 was -'])
    expect(cluster.asked).toEqual(['list default', 'watch 7'])
  })

  it('follows the watch', async () => {
    cluster.watches.push([
      { type: 'ADDED', object: object('a', 1) },
      { type: 'MODIFIED', object: object('a', 2) },
      { type: 'DELETED', object: object('a', 3) },
    ])
    await run()
    expect(changes).toEqual(['added a@1 was -', 'updated a@2 was 1', 'deleted a@3 was 2'])
    expect(informer.list()).toEqual([])
  })

  it('resumes a closed watch where it stopped, bookmarks included, without listing again', async () => {
    cluster.watches.push(
      [{ type: 'ADDED', object: object('a', 4) }],
      [{ type: 'BOOKMARK', resourceVersion: '9' }],
      [{ type: 'ADDED', object: object('b', 10) }],
    )
    await run()
    expect(cluster.asked).toEqual(['list default', 'watch 0', 'watch 4', 'watch 9', 'watch 10'])
  })

  it('lists again when its version is too old, and tells only what differs', async () => {
    cluster.lists.push(
      { items: [object('same', 1), object('changed', 2), object('gone', 3)], resourceVersion: '3' },
      { items: [object('same', 1), object('changed', 8), object('new', 9)], resourceVersion: '9' },
    )
    cluster.watches.push([new StatusError('Expired', 'too old')])
    await run(1_000)
    expect(changes.slice(3)).toEqual(['updated changed@8 was 2', 'added new@9 was -', 'deleted gone@3 was 3'])
    expect(cluster.asked).toEqual(['list default', 'watch 3', 'list default', 'watch 9'])
  })

  it('tells of both when a name was given to another object unseen', async () => {
    cluster.lists.push(
      { items: [object('a', 1, 'first')], resourceVersion: '1' },
      { items: [object('a', 5, 'second')], resourceVersion: '5' },
    )
    cluster.watches.push([new StatusError('Expired', 'too old')])
    await run(1_000)
    expect(changes.slice(1)).toEqual(['deleted a@1 was 1', 'added a@5 was -'])
  })

  it('resumes after a broken connection instead of listing', async () => {
    cluster.watches.push([{ type: 'ADDED', object: object('a', 4) }, new Error('socket hang up')])
    await run(1_000)
    expect(cluster.asked).toEqual(['list default', 'watch 0', 'watch 4'])
  })

  it('comes back to a busy server when it asks to, without listing', async () => {
    const busy = new StatusError('TooManyRequests', 'later', { retryAfterSeconds: 7 })
    cluster.lists.push({ items: [object('a', 1)], resourceVersion: '1' })
    cluster.watches.push([busy])
    await run()
    await clock.advance(6_999)
    expect(cluster.asked).toEqual(['list default', 'watch 1'])
    await clock.advance(1)
    expect(cluster.asked).toEqual(['list default', 'watch 1', 'watch 1'])
  })

  it('waits longer after each failure, up to a bound, and starts over after a success', async () => {
    const down = () => new Error('connect ECONNREFUSED')
    cluster.lists.push(down(), down(), down(), { items: [], resourceVersion: '5' })
    cluster.watches.push([{ type: 'ADDED', object: object('a', 6) }], [new Error('socket hang up')])
    await run(49)
    expect(cluster.asked).toHaveLength(1)
    await clock.advance(1)
    expect(cluster.asked).toHaveLength(2)
    await clock.advance(99)
    expect(cluster.asked).toHaveLength(2)
    await clock.advance(1 + 200)
    expect(cluster.asked.slice(3)).toEqual(['list default', 'watch 5', 'watch 6'])
    await clock.advance(50)
    expect(cluster.asked.at(-1)).toBe('watch 6')
    expect(cluster.asked).toHaveLength(7)
  })

  it('does not spin when every watch is closed at once', async () => {
    cluster.watches.push(...Array.from({ length: 500 }, () => []))
    await run(60_000)
    expect(cluster.asked.length).toBeLessThan(20)
  })

  it('keeps going when a listener throws', async () => {
    informer.onChange(() => {
      throw new Error('listener')
    })
    cluster.watches.push([
      { type: 'ADDED', object: object('a', 1) },
      { type: 'ADDED', object: object('b', 2) },
    ])
    await run()
    expect(informer.list()).toHaveLength(2)
  })

  it('tells nothing to a listener that left', async () => {
    const heard: string[] = []
    const leave = informer.onChange(({ type }) => heard.push(type))
    leave()
    cluster.lists.push({ items: [object('a', 1)], resourceVersion: '1' })
    await run()
    expect(heard).toEqual([])
  })

  it('stops waiting to be synced when asked to', async () => {
    cluster.lists.push(new Error('down'))
    const patience = new AbortController()
    const synced = informer.whenSynced(patience.signal)
    await run()
    patience.abort(new Error('enough'))
    await expect(synced).rejects.toThrow('enough')
  })
})
