import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder, eventSettleMs } from '../cluster/event-recorder.ts'
import type { Foresee, TakeBack } from '../cluster/foreseen.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import { storedKinds } from '../resources/all-kinds.ts'
import { customResourceDefinitionKind } from '../resources/custom-resource-definition-kind.ts'
import { endpointSliceKind } from '../resources/endpoint-slice.ts'
import { endpointsKind } from '../resources/endpoints.ts'
import { eventKind } from '../resources/event.ts'
import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { newEventKind } from '../resources/new-event.ts'
import { nodeKind } from '../resources/node.ts'
import { persistentVolumeClaimKind } from '../resources/persistent-volume-claim.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { serviceKind } from '../resources/service.ts'
import type { ClaimFolders } from './claims/volume-reclaim.ts'
import { claimRunners } from './claims/claim-runners.ts'
import { EndpointSlices } from './endpoints/endpoint-slices.ts'
import { EndpointsMirror } from './endpoints/endpoints-mirror.ts'
import { EventExpiry } from './garbage/event-expiry.ts'
import { NamespaceTermination } from './namespaces/namespace-termination.ts'
import { KindCaches } from './kind-caches.ts'
import { LegacyEndpoints } from './endpoints/legacy-endpoints.ts'
import { OwnerGarbage } from './garbage/owner-garbage.ts'
import type { QuotaCounts } from './namespaces/resource-quota-status.ts'
import { Scheduler } from './scheduling/scheduler.ts'
import { namespaceBasics } from './namespaces/namespace-basics.ts'
import { TaintEvictions } from './scheduling/taint-evictions.ts'
import { type Runs, workloadRunners } from './workload-runners.ts'

export interface WorkloadControllersOptions {
  readonly client: ClusterClient
  /** Finalizes an emptied namespace, through the `finalize` subresource. */
  readonly finalizeNamespace: (name: string) => Promise<void>
  /** Every kind the cluster serves now, including those of CustomResourceDefinitions. */
  readonly servedKinds?: (() => readonly Kind[]) | undefined
  /** PEM of the authority by which Pods verify the API server. */
  readonly rootCertificate?: string | undefined
  /** Counts what namespaces use. */
  readonly quotaCounts?: QuotaCounts | undefined
  /** Where the node keeps the data of claims. */
  readonly claimFolders?: ClaimFolders | undefined
  /** How many finished Pods are kept; beyond that, the oldest are deleted. */
  readonly finishedPodLimit?: number | undefined
  /** How long Events are kept after their last change; an hour by default. */
  readonly eventTtlMs?: number | undefined
  /** Told where a Pod is about to be placed. */
  readonly foresee?: Foresee<Pod> | undefined
  readonly clock: Clock
  readonly log: Logger
}

const defaultFinishedPods = 1_000

/** What an embedded cluster does with the core kinds; on a real Kubernetes others do it. */
export class WorkloadControllers implements Component {
  readonly name = 'workloads'
  readonly #options: WorkloadControllersOptions
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  #caches: KindCaches | undefined
  #scheduler: Scheduler | undefined

  constructor(options: WorkloadControllersOptions) {
    this.#options = options
  }

  /** Resolves when every cache is filled and the controllers run. */
  async start(signal: AbortSignal): Promise<void> {
    const { client, finalizeNamespace, servedKinds = () => storedKinds, clock, log } = this.#options
    const { finishedPodLimit = defaultFinishedPods, eventTtlMs } = this.#options
    const caches = new KindCaches({ client, clock, log })
    const watch = <T extends KubernetesObject>(kind: Kind<T>) => caches.watch(kind)
    const pods = watch(podKind)
    const services = watch(serviceKind)
    const slices = watch(endpointSliceKind)
    const endpoints = watch(endpointsKind)
    const nodes = watch(nodeKind)
    const namespaces = watch(namespaceKind)
    const definitions = watch(customResourceDefinitionKind)
    const basics = namespaceBasics({ ...this.#options, watch, namespaces })
    const claims = watch(persistentVolumeClaimKind)
    const workloads = workloadRunners({ client, watch, pods, claims, finishedPodLimit, clock, log })
    const binder = claimRunners({ ...this.#options, watch, watched: caches, claims, pods })
    // Events neither own nor are owned, and there are many of them.
    const owningKinds = () => servedKinds().filter(({ group, kind }) => !isEvent(group, kind))
    caches.follow(owningKinds())
    definitions.onChange(() => caches.follow(owningKinds()))

    const events = new EventRecorder({ client, component: 'default-scheduler', clock, log, settleMs: eventSettleMs })
    const scheduler = new Scheduler({ client, pods, nodes, claims, events, clock, log, foresee: this.#options.foresee })
    const eventsOf = (component: string) => new EventRecorder({ client, component, clock, log })
    const controllers: readonly Runs[] = [
      scheduler,
      new TaintEvictions({ client, pods, nodes, events: eventsOf('taint-eviction-controller'), clock, log }),
      new EndpointSlices({ client, services, pods, slices, clock, log }),
      new LegacyEndpoints({ client, services, slices, endpoints, clock, log }),
      new EndpointsMirror({ client, services, slices, endpoints, clock, log }),
      ...workloads,
      ...binder,
      ...basics,
      new OwnerGarbage({ client, watched: caches, clock, log }),
      new EventExpiry({ client, clock, log, limits: eventTtlMs === undefined ? {} : { ttlMs: eventTtlMs } }),
      new NamespaceTermination({ client, finalizeNamespace, kinds: servedKinds, namespaces, clock, log }),
    ]
    const stopping = this.#stopping.signal
    this.#caches = caches
    await caches.start(signal, stopping)
    this.#scheduler = scheduler
    this.#running = Promise.all(controllers.map((controller) => controller.run(stopping)))
  }

  /** The Pod is about to be written: see `Scheduler`. */
  foresee(pod: Pod): TakeBack | undefined {
    return this.#stopping.signal.aborted ? undefined : this.#scheduler?.foresee(pod)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the controllers stop'))
    await this.#running
    await this.#caches?.stopped()
  }
}

/** In either of its two groups. */
function isEvent(group: string, kind: string): boolean {
  return kind === eventKind.kind && (group === eventKind.group || group === newEventKind.group)
}
