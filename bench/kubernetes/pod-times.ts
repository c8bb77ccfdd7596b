import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'

/** Milliseconds since the Unix epoch, finer than those. */
export function now(): number {
  return performance.timeOrigin + performance.now()
}

/** When a watch saw the Pods of models come, and become ready. */
export class PodTimes {
  readonly #label: string
  readonly #created = new Map<string, number>()
  readonly #addressed = new Map<string, number>()
  readonly #ready = new Map<string, PromiseWithResolvers<number>>()
  readonly #stop = new AbortController()

  constructor(label: string) {
    this.#label = label
  }

  /** Begins to watch, from now on. */
  async start(client: ClusterClient, namespace: string): Promise<void> {
    const { resourceVersion } = await client.list(podKind, { namespace })
    void this.#follow(client, namespace, resourceVersion)
  }

  stop(): void {
    this.#stop.abort()
  }

  createdAt(model: string): number {
    return this.#created.get(model) ?? Number.NaN
  }

  /** From when on its Pod could be asked, if it was ready. */
  addressedAt(model: string): number {
    return this.#addressed.get(model) ?? Number.NaN
  }

  readyAt(model: string): Promise<number> {
    return this.#readiness(model).promise
  }

  async #follow(client: ClusterClient, namespace: string, resourceVersion: string): Promise<void> {
    let version = resourceVersion
    while (!this.#stop.signal.aborted) {
      for await (const event of client.watch(podKind, { namespace, resourceVersion: version }, this.#stop.signal)) {
        version = event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? version)
        if (event.type === 'ADDED' || event.type === 'MODIFIED') this.#note(event.object, now())
      }
    }
  }

  #note({ metadata, status }: Pod, at: number): void {
    const model = metadata.labels?.[this.#label]
    if (model === undefined) return
    if (!this.#created.has(model)) this.#created.set(model, at)
    if (status?.podIP && !this.#addressed.has(model)) this.#addressed.set(model, at)
    const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
    if (isReady) this.#readiness(model).resolve(at)
  }

  #readiness(model: string): PromiseWithResolvers<number> {
    const known = this.#ready.get(model) ?? Promise.withResolvers<number>()
    this.#ready.set(model, known)
    return known
  }
}
