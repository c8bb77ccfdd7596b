import type { ClusterClient } from '../src/cluster/cluster-client.ts'
import { type Pod, isPodReady, podKind } from '../src/resources/pod.ts'

const deadlineMs = 120_000

/** Watches the Pods of a namespace, as a client does. A Pod is identified by its name, or by that of its Deployment. */
export class PodArrivals {
  readonly #states = new Map<string, 'ready' | 'gone'>()
  readonly #waiters = new Map<string, () => void>()
  readonly #stopping = new AbortController()

  static async watch(client: ClusterClient, namespace: string): Promise<PodArrivals> {
    const arrivals = new PodArrivals()
    const { resourceVersion } = await client.list(podKind, { namespace })
    void arrivals.#follow(client.watch(podKind, { namespace, resourceVersion }, arrivals.#stopping.signal))
    return arrivals
  }

  ready(name: string): Promise<void> {
    return this.#reached(name, 'ready')
  }

  gone(name: string): Promise<void> {
    return this.#reached(name, 'gone')
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #follow(events: AsyncIterable<{ type: string; object?: Pod }>): Promise<void> {
    for await (const { type, object } of events) {
      if (!object) continue
      const name = object.metadata.labels?.['app'] ?? object.metadata.name
      if (type === 'DELETED') this.#enter(name, 'gone')
      else if (isPodReady(object) && object.metadata.deletionTimestamp === undefined) this.#enter(name, 'ready')
    }
  }

  #enter(name: string, state: 'ready' | 'gone'): void {
    this.#states.set(name, state)
    this.#waiters.get(`${name} ${state}`)?.()
  }

  #reached(name: string, state: 'ready' | 'gone'): Promise<void> {
    return new Promise((resolve, reject) => {
      const key = `${name} ${state}`
      const timer = setTimeout(() => reject(new Error(`${name} was not ${state} in time`)), deadlineMs)
      const done = () => {
        clearTimeout(timer)
        this.#waiters.delete(key)
        resolve()
      }
      if (this.#states.get(name) === state) done()
      else this.#waiters.set(key, done)
    })
  }
}
