import type { ClusterClient, ListOptions } from '../cluster/cluster-client.ts'
import { Informer, type ObjectCache } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/** One informer for each kind, or part of a kind. All controllers of the process share them. */
export class Informers implements Component {
  readonly name = 'informers'
  readonly #options: { readonly client: ClusterClient; readonly clock: Clock; readonly log: Logger }
  readonly #informers: Running[] = []
  readonly #stop = new AbortController()
  #runs: Array<Promise<void>> = []

  constructor(options: { readonly client: ClusterClient; readonly clock: Clock; readonly log: Logger }) {
    this.#options = options
  }

  /**
   * Adds an informer for all objects of a kind, or for those that the scope selects. It is filled when all are started.
   */
  add<T extends KubernetesObject>(kind: Kind<T>, scope: ListOptions = {}): ObjectCache<T> {
    const informer = new Informer({ ...this.#options, kind, scope })
    this.#informers.push(informer)
    return informer
  }

  /** Resolves when every cache has synced. */
  async start(signal: AbortSignal): Promise<void> {
    const informers = this.#informers
    this.#runs = informers.map((informer) => informer.run(this.#stop.signal))
    await Promise.all(informers.map((informer) => informer.whenSynced(signal)))
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled(this.#runs)
  }
}

interface Running {
  run(signal: AbortSignal): Promise<void>
  whenSynced(signal: AbortSignal): Promise<void>
}
