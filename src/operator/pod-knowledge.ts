import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { type Pod, podKind } from '../resources/pod.ts'

export interface PodKnowledgeOptions {
  readonly client: Pick<ClusterClient, 'list'>
  readonly pods: ObjectCache<Pod>
  readonly clock: Clock
  readonly log: Logger
  /** The Model that a Pod belongs to. */
  readonly modelOf: (pod: Pod) => ObjectRef | undefined
}

const listAgainMs = 5_000

/**
 * Knows of which Models the cache shows every Pod, so that more can be created without a look at the cluster. Nobody
 * else creates them, so what a cache can miss is what there was when this controller began, what it has created since,
 * and what it tried to create without hearing whether it was.
 */
export class PodKnowledge {
  readonly #options: PodKnowledgeOptions
  /** By Model: Pods that the cache has not shown yet. */
  readonly #unseen = new Map<string, Set<string>>()
  readonly #doubted = new Set<string>()
  #isListed = false

  constructor(options: PodKnowledgeOptions) {
    this.#options = options
  }

  /** Finds out what there is now. Until then, nothing is taken for complete. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, pods, clock, log, modelOf } = this.#options
    const unsubscribe = pods.onChange(({ object }) => this.#seen(object))
    signal.addEventListener('abort', unsubscribe, { once: true })
    while (!signal.aborted && !this.#isListed) {
      try {
        const { items } = await client.list(podKind, { namespace: gatewayNamespace }, signal)
        for (const pod of items) this.#note(modelOf(pod), pod)
        this.#isListed = true
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error }, 'the Pods that there are could not be listed; trying again')
        await clock.sleep(listAgainMs, signal).catch(() => {})
      }
    }
  }

  isComplete(model: ObjectRef): boolean {
    const key = keyOf(model)
    return this.#isListed && !this.#doubted.has(key) && !this.#unseen.has(key)
  }

  /** Pods of the Model are being created: until that has ended, nobody knows which. */
  doubt(model: ObjectRef): void {
    this.#doubted.add(keyOf(model))
  }

  created(model: ObjectRef, pods: readonly Pod[]): void {
    this.#doubted.delete(keyOf(model))
    for (const pod of pods) this.#note(model, pod)
  }

  /** These are all Pods of the Model, as the cluster itself says. */
  looked(model: ObjectRef, pods: readonly Pod[]): void {
    this.forget(model)
    for (const pod of pods) this.#note(model, pod)
  }

  forget(model: ObjectRef): void {
    this.#doubted.delete(keyOf(model))
    this.#unseen.delete(keyOf(model))
  }

  #note(model: ObjectRef | undefined, pod: Pod): void {
    const { uid = '' } = pod.metadata
    if (!model || this.#options.pods.get(refOf(pod))?.metadata.uid === uid) return
    const key = keyOf(model)
    this.#unseen.set(key, (this.#unseen.get(key) ?? new Set()).add(uid))
  }

  #seen(pod: Pod): void {
    const model = this.#options.modelOf(pod)
    const unseen = model && this.#unseen.get(keyOf(model))
    if (!model || !unseen?.delete(pod.metadata.uid ?? '')) return
    if (unseen.size === 0) this.#unseen.delete(keyOf(model))
  }
}
