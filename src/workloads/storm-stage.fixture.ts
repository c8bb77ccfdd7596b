import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import type { Kind } from '../resources/kind.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, isPodFinished, podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { WorkloadControllers } from './workload-controllers.ts'

export const namespace = 'default'

/** Counts what controllers ask for, by verb and kind, and may refuse it. */
class StormClient extends EmbeddedClient {
  readonly asked = new Map<string, number>()
  refuse: (verb: string, kind: Kind) => Error | undefined = () => undefined

  override create: EmbeddedClient['create'] = (kind, object) =>
    this.#ask('create', kind, () => super.create(kind, object))
  override update: EmbeddedClient['update'] = (kind, object) =>
    this.#ask('update', kind, () => super.update(kind, object))
  override updateStatus: EmbeddedClient['updateStatus'] = (kind, object) =>
    this.#ask('updateStatus', kind, () => super.updateStatus(kind, object))
  override changeStatus: EmbeddedClient['changeStatus'] = (kind, ref, change) =>
    this.#ask('changeStatus', kind, () => super.changeStatus(kind, ref, change))
  override patch: EmbeddedClient['patch'] = (kind, ref, patch) =>
    this.#ask('patch', kind, () => super.patch(kind, ref, patch))
  override delete: EmbeddedClient['delete'] = (kind, ref, options) =>
    this.#ask('delete', kind, () => super.delete(kind, ref, options))
  override list: EmbeddedClient['list'] = (kind, options) => this.#ask('list', kind, () => super.list(kind, options))

  count(verb: string, kind?: string): number {
    let sum = 0
    for (const [what, count] of this.asked) {
      const [itsVerb, itsKind] = what.split(' ')
      if (itsVerb === verb && (kind === undefined || kind === itsKind)) sum += count
    }
    return sum
  }

  /** Everything that changes something, except Events. */
  get writes(): number {
    let sum = 0
    for (const [what, count] of this.asked) if (!what.startsWith('list') && !what.endsWith(' Event')) sum += count
    return sum
  }

  #ask<T>(verb: string, kind: Kind, act: () => Promise<T>): Promise<T> {
    const what = `${verb} ${kind.kind}`
    this.asked.set(what, (this.asked.get(what) ?? 0) + 1)
    const refused = this.refuse(verb, kind)
    return refused ? Promise.reject(refused) : act()
  }
}

/** The controllers of an embedded cluster over a store in memory, with a clock that moves when a test says so. */
export async function startStorm() {
  const clock = new FakeClock()
  const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
  const client = new StormClient(api)
  // What a test itself does is not counted.
  const hands = new EmbeddedClient(api)
  await hands.create(namespaceKind, { metadata: { name: namespace } })
  const controllers = new WorkloadControllers({
    client,
    finalizeNamespace: (name) => hands.finalizeNamespace(name),
    servedKinds: () => client.servedKinds(),
    clock,
    log: silentLogger,
  })
  await controllers.start(new AbortController().signal)
  await clock.advance(0)
  client.asked.clear()

  /** Lets every unfinished Pod fail at once, every `everyMs`, for `ms`. */
  async function failPods(ms: number, everyMs: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += everyMs) {
      await clock.advance(everyMs)
      const { items } = await hands.list(podKind, { namespace })
      for (const pod of items) if (!isPodFinished(pod)) await fail(pod)
      // There is no node here, so deleted Pods are removed by hand.
      for (const { metadata } of items) {
        if (metadata.deletionTimestamp === undefined) continue
        await hands.delete(podKind, { namespace, name: metadata.name }, { graceSeconds: 0 }).catch(() => {})
      }
    }
  }

  async function fail(pod: Pod): Promise<void> {
    const terminated = { exitCode: 1, reason: 'Error', finishedAt: timestamp(clock.now()) }
    const ended = { name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } }
    const status = { phase: 'Failed' as const, reason: 'Evicted', containerStatuses: [ended] }
    await hands.updateStatus(podKind, { ...pod, status: { ...pod.status, ...status } })
  }

  return { clock, client, hands, failPods, stop: () => controllers.stop() }
}
