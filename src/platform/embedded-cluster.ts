import type { AdmissionPlugin, AdmissionRule } from '../apiserver/admission/admission.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ComingReplicas, Foresee } from '../cluster/foreseen.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { MachineCards } from '../node/cards/machine-cards.ts'
import type { Isolation } from '../node/isolation/detect-isolation.ts'
import { LogHub } from '../node/logs/log-hub.ts'
import { podNames } from '../node/network/pod-names.ts'
import type { PodNetwork } from '../node/network/pod-network.ts'
import { NodeAgent } from '../node/node-agent.ts'
import type { NodeShare } from '../node/registration/node-report.ts'
import { NodePodAccess } from '../node/pod-access.ts'
import { PodLogs } from '../node/logs/pod-logs.ts'
import { ProcessRuntime } from '../node/process-runtime.ts'
import { serviceVariables } from '../node/environment/service-variables.ts'
import { isClaimName, reserveClaimFolder } from '../node/volumes/claim-folder.ts'
import type { Kind } from '../resources/kind.ts'
import { type PersistentVolume, persistentVolumeKind } from '../resources/persistent-volume.ts'
import type { Pod } from '../resources/pod.ts'
import type { SqliteStore } from '../store/sqlite-store.ts'
import { claimOfSource } from '../workloads/claims/node-volume.ts'
import { WorkloadControllers } from '../workloads/workload-controllers.ts'
import type { KeyAndCertificate } from './data/certificates.ts'
import { ClaimFolders } from './claims/claim-folders.ts'
import { type ClusterCaches, clusterCaches } from './cluster-caches.ts'
import { clusterIpRole } from './roles/cluster-ip-role.ts'
import { ControlPlane, type ControlPlaneOptions } from './control-plane.ts'
import type { DataFolder } from './data/data-directory.ts'
import { clusterDomain, dnsRole } from './roles/dns-role.ts'
import { type Identity, openServiceAccountKey } from './data/identity.ts'
import type { ClusterImages } from './images/cluster-images.ts'
import { Informers } from './informers.ts'
import { networkRulesRole } from './roles/network-rules-role.ts'
import { volumesDirectory } from './models/model-storage.ts'
import { nodeNames } from './node-names.ts'
import type { ServiceNetwork } from './services/service-network.ts'
import { together } from './together.ts'
import { version } from './version.ts'
import { WakeForesight } from './wake-foresight.ts'

export interface EmbeddedClusterOptions {
  readonly directory: DataFolder
  /** Is closed together with the cluster. */
  readonly store: SqliteStore
  readonly identity: Pick<Identity, 'clusterId' | 'adminToken'>
  /** The current image registry of the compute center. */
  readonly registry: () => string
  readonly images: ClusterImages
  /** How many finished Pods are kept. */
  readonly finishedPodLimit?: number | undefined
  /** How long Events are kept after their last change. */
  readonly eventTtlMs?: number | undefined
  /** The cards of the machine, which all its clusters share. */
  readonly cards: MachineCards
  /** The names of the Nodes that the machine is in this cluster; by default one, called like the machine. */
  readonly nodeNames?: readonly [string, ...string[]] | undefined
  /** The cluster's share of the machine; by default, everything. */
  readonly share?: (() => NodeShare) | undefined
  /** Whether the machine is this cluster's, with guests, rather than it a guest of another one's. */
  readonly isHome?: boolean
  readonly network: PodNetwork
  readonly isolation: Isolation
  readonly services: ServiceNetwork
  readonly at: ControlPlaneOptions['at']
  readonly tls: KeyAndCertificate & { readonly ca: string }
  /** Which of Sluice's own kinds the cluster has; by default, all. */
  readonly customKinds?: readonly Kind[] | undefined
  readonly rules?: readonly AdmissionRule[] | undefined
  readonly plugins?: readonly AdmissionPlugin[] | undefined
  /** Creates the cluster's first objects, before anything runs. */
  readonly furnish: (client: ClusterClient) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** A cluster on this machine: its control plane, its node, and the controllers of core kinds. */
export class EmbeddedCluster {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  readonly informers: Informers
  readonly controlPlane: ControlPlane
  readonly #options: EmbeddedClusterOptions
  readonly #logHub = new LogHub()
  readonly #runtime: ProcessRuntime
  /** Lets a wake begin before its writes are durable. */
  readonly foresight: WakeForesight
  /** Is told of replicas that are about to be written. */
  operator: Foresee<ComingReplicas> = () => undefined
  #workloads: WorkloadControllers | undefined
  #node: NodeAgent | undefined
  readonly #logs: PodLogs

  constructor(options: EmbeddedClusterOptions) {
    this.#options = options
    const { directory, identity, registry, tls, at, clock, log, metrics, services } = options
    this.#runtime = this.#makeRuntime()
    const actors = {
      operator: (coming: ComingReplicas) => this.operator(coming),
      scheduler: (pod: Pod) => this.#workloads?.foresee(pod),
      node: (pod: Pod) => this.#node?.foresee(pod),
    }
    this.foresight = new WakeForesight(actors, () => options.store.gather())
    const logs = new PodLogs({ dataDir: directory.root, hub: this.#logHub, clock })
    this.#logs = logs
    this.controlPlane = new ControlPlane({
      store: options.store,
      identity,
      registry,
      tls,
      serviceAccountKey: openServiceAccountKey(directory),
      at,
      services,
      customKinds: options.customKinds,
      rules: options.rules,
      podAccess: new NodePodAccess({
        logs,
        runtime: this.#runtime,
        network: options.network,
        clock,
        wholeMachine: options.isHome === true,
      }),
      plugins: [...(options.plugins ?? []), this.foresight.admission],
      clock,
      log,
      metrics,
    })
    this.client = this.controlPlane.client
    this.informers = new Informers({ client: this.client, clock, log })
    this.caches = clusterCaches(this.informers)
  }

  get address(): string {
    return this.controlPlane.address
  }

  /** The last line of a container's log, with its time. */
  readLogTail(pod: Pod, container: string, signal: AbortSignal): Promise<string> {
    return this.#logs.tail(pod, container, signal)
  }

  readonly readLog: NodePodAccess['logs'] = (pod, options, signal) => this.#logs.logs(pod, options, signal)

  /** Tells the node that the cluster's share of the machine has changed. */
  shareChanged(): void {
    this.#limitPods()
    this.#node?.shareChanged()
  }

  /** The components in the order in which they start. */
  components(): readonly Component[] {
    const { directory, network, services, clock, log, metrics } = this.#options
    const runtime = this.#runtime
    const node = this.#nodeAgent(runtime)
    this.#node = node
    this.#workloads = this.#workloadControllers()
    return [
      ...this.quietComponents(),
      // These do not depend on each other, and some wait for programs of the machine.
      together('controllers and network', [
        this.#workloads,
        clusterIpRole({ client: this.client, caches: this.caches, range: services.range, network, clock, log }),
        dnsRole({ client: this.client, caches: this.caches, address: services.dns, clock, log, metrics }),
        networkRulesRole({
          client: this.client,
          network,
          folder: directory.folder('node'),
          caches: this.caches,
          dns: services.dns,
          clock,
          log,
        }),
      ]),
      { name: 'runtime', start: () => this.#limitPods(), stop: () => runtime.close() },
      // The node starts last: no Pod may start before the first network rules are in force.
      node,
    ]
  }

  /**
   * The components of safe mode: the API serves what there is, but no Pod is started, and nothing is created or
   * deleted.
   */
  quietComponents(): readonly Component[] {
    return [this.controlPlane, { name: 'furniture', start: () => this.#furnish() }, this.informers]
  }

  /** The scheduler counts what Pods ask for; the kernel holds those to the quota, too, that ask for nothing. */
  #limitPods(): void {
    this.#runtime.limitTogether(this.#options.share?.() ?? {})
  }

  async #furnish(): Promise<void> {
    await this.#options.furnish(this.client)
    await this.#reserveClaimFolders()
  }

  #workloadControllers(): WorkloadControllers {
    const { directory, tls, finishedPodLimit, eventTtlMs, clock, log } = this.#options
    return new WorkloadControllers({
      client: this.client,
      finalizeNamespace: (name) => this.controlPlane.client.finalizeNamespace(name),
      servedKinds: () => this.controlPlane.client.servedKinds(),
      rootCertificate: tls.ca,
      quotaCounts: this.controlPlane.quotas,
      claimFolders: new ClaimFolders(volumesDirectory(directory.root)),
      finishedPodLimit,
      eventTtlMs,
      foresee: this.foresight.placement,
      clock,
      log,
    })
  }

  /** In former versions, two claims of the same name shared one folder. The claim whose volume is older keeps it. */
  async #reserveClaimFolders(): Promise<void> {
    const { items } = await this.client.list(persistentVolumeKind)
    const volumes = volumesDirectory(this.#options.directory.root)
    const ageOf = ({ metadata }: PersistentVolume) => metadata.creationTimestamp ?? ''
    for (const volume of items.toSorted((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1))) {
      const claim = claimOfSource(volume)
      const namespace = volume.spec.claimRef?.namespace
      if (claim !== undefined && namespace !== undefined && isClaimName(claim)) {
        reserveClaimFolder(volumes, namespace, claim)
      }
    }
  }

  #makeRuntime(): ProcessRuntime {
    const { directory, images, isolation, network, clock, log } = this.#options
    return new ProcessRuntime({
      dataDir: directory.root,
      images: images.store,
      isolation,
      networks: {
        nextNetwork: () => network.nextNamespace,
        onNextNetwork: (listener) => network.onNextNamespace(listener),
      },
      hostIP: network.hostIP,
      hostIP6: network.hostIP6,
      clock,
      log,
      logHub: this.#logHub,
    })
  }

  #nodeAgent(runtime: ProcessRuntime): NodeAgent {
    const { cards, share, network, services, clock, log } = this.#options
    const { dns } = services
    const [name, ...furtherNames] = this.#options.nodeNames ?? nodeNames(1)
    return new NodeAgent({
      name,
      furtherNames,
      client: this.client,
      runtime,
      cards,
      ...(share && { share }),
      network,
      ...(dns !== undefined && {
        names: (pod, podIPs) => podNames(pod, podIPs, { clusterDomain, nameserver: dns }),
      }),
      clock,
      log,
      version,
      tokens: async (pod, audience, seconds) => this.controlPlane.podToken(pod, audience, seconds),
      serviceVariables: (pod) => serviceVariables(pod, this.caches.services.list()),
    })
  }
}
