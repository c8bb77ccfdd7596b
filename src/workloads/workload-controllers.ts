import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import { Informer } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import { storedKinds } from '../resources/all-kinds.ts'
import { endpointSliceKind } from '../resources/endpoint-slice.ts'
import { eventKind } from '../resources/event.ts'
import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { serviceKind } from '../resources/service.ts'
import { EndpointSlices } from './endpoint-slices.ts'
import { NamespaceTermination } from './namespace-termination.ts'
import { OwnerGarbage, type WatchedKind } from './owner-garbage.ts'
import { Scheduler } from './scheduler.ts'

export interface WorkloadControllersOptions {
  readonly client: ClusterClient
  /** Lets an emptied namespace go: the `finalize` subresource. */
  readonly finalizeNamespace: (name: string) => Promise<void>
  /** Every kind the cluster serves at the moment, those of CustomResourceDefinitions included. */
  readonly servedKinds?: (() => readonly Kind[]) | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface Runs {
  run(signal: AbortSignal): Promise<void>
}

/** What an embedded cluster does with the core kinds; on a real Kubernetes others do it. */
export class WorkloadControllers implements Component {
  readonly name = 'workloads'
  readonly #options: WorkloadControllersOptions
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: WorkloadControllersOptions) {
    this.#options = options
  }

  /** Resolves when every cache is filled and the controllers work. */
  async start(signal: AbortSignal): Promise<void> {
    const { client, finalizeNamespace, servedKinds = () => storedKinds, clock, log } = this.#options
    const watched: WatchedKind[] = []
    const informing: (Runs & { whenSynced(signal: AbortSignal): Promise<void> })[] = []
    const watch = <T extends KubernetesObject>(kind: Kind<T>): Informer<T> => {
      const cache = new Informer({ client, kind, clock, log })
      watched.push({ kind, cache })
      informing.push(cache)
      return cache
    }
    const pods = watch(podKind)
    const services = watch(serviceKind)
    const slices = watch(endpointSliceKind)
    const nodes = watch(nodeKind)
    const namespaces = watch(namespaceKind)
    const kinds = storedKinds
    const already = new Set<Kind>(watched.map(({ kind }) => kind))
    // Events own nothing and are owned by nothing, and there are many of them.
    for (const kind of kinds) if (!already.has(kind) && kind !== eventKind) watch(kind)

    const events = new EventRecorder({ client, component: 'default-scheduler', clock, log })
    const controllers: readonly Runs[] = [
      new Scheduler({ client, pods, nodes, events, clock, log }),
      new EndpointSlices({ client, services, pods, slices, clock, log }),
      new OwnerGarbage({ client, watched, clock, log }),
      new NamespaceTermination({ client, finalizeNamespace, kinds: servedKinds, namespaces, clock, log }),
    ]
    const stopping = this.#stopping.signal
    const caching = informing.map((informer) => informer.run(stopping))
    this.#running = Promise.all(caching)
    await Promise.all(informing.map((informer) => informer.whenSynced(AbortSignal.any([signal, stopping]))))
    this.#running = Promise.all([...caching, ...controllers.map((controller) => controller.run(stopping))])
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the controllers stop'))
    await this.#running
  }
}
