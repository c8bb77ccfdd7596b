import { hostname } from 'node:os'
import { modelsIn } from '../apiserver/admission/model-namespace-rule.ts'
import { EventRecorder, eventSettleMs } from '../cluster/event-recorder.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ComingReplicas } from '../cluster/foreseen.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import type { Card } from '../node/cards/card.ts'
import { ImageStore } from '../node/images/image-store.ts'
import { imagesFolder } from '../node/images/image-folders.ts'
import { ImportedImages } from '../node/images/imported-images.ts'
import type { Isolation } from '../node/isolation/detect-isolation.ts'
import { LogHub } from '../node/logs/log-hub.ts'
import { podNames } from '../node/network/pod-names.ts'
import type { PodNetwork } from '../node/network/pod-network.ts'
import { NodeAgent } from '../node/node-agent.ts'
import { NodePodAccess } from '../node/pod-access.ts'
import { PodLogs } from '../node/logs/pod-logs.ts'
import { ProcessRuntime } from '../node/process-runtime.ts'
import { serviceVariables } from '../node/environment/service-variables.ts'
import { isClaimName, reserveClaimFolder } from '../node/volumes/claim-folder.ts'
import { ModelController } from '../operator/model-controller.ts'
import { resolveProfile } from '../operator/resource-profile.ts'
import { clusterKind } from '../resources/cluster.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { controllingModel } from '../resources/model-ownership.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import { type PersistentVolume, persistentVolumeKind } from '../resources/persistent-volume.ts'
import type { Pod } from '../resources/pod.ts'
import type { SqliteStore } from '../store/sqlite-store.ts'
import { claimOfSource } from '../workloads/claims/node-volume.ts'
import { WorkloadControllers } from '../workloads/workload-controllers.ts'
import { backgroundTask } from './background-task.ts'
import type { KeyAndCertificate } from './data/certificates.ts'
import { ClaimFiles } from './claims/claim-files.ts'
import { ClaimFolders } from './claims/claim-folders.ts'
import { type ClusterCaches, clusterCaches } from './cluster-caches.ts'
import type { StoreInterruption } from './cluster-store.ts'
import type { ConfigFile } from './data/config-file.ts'
import { clusterIpRole } from './roles/cluster-ip-role.ts'
import { ControlPlane } from './control-plane.ts'
import type { DataDirectory } from './data/data-directory.ts'
import { clusterDomain, dnsRole } from './roles/dns-role.ts'
import { ClusterCards } from './models/cluster-cards.ts'
import { DemoModelFetch } from './models/demo-model-fetch.ts'
import { type CenterFacts, createHomeResources } from './home-resources.ts'
import { type Credentials, type Identity, openServiceAccountKey } from './data/identity.ts'
import { ConfiguredImages } from './images/configured-images.ts'
import { type EnginePrograms, enginePrograms } from './images/image-entries.ts'
import { Informers } from './informers.ts'
import { networkRulesRole } from './roles/network-rules-role.ts'
import { modelCardWarning } from './models/model-card-warning.ts'
import { volumesDirectory } from './models/model-storage.ts'
import type { ServiceNetwork } from './services/service-network.ts'
import { version } from './version.ts'
import { WakeForesight } from './wake-foresight.ts'

export interface EmbeddedClusterOptions {
  readonly directory: DataDirectory
  /** It is closed with the cluster. */
  readonly store: SqliteStore
  readonly identity: Identity
  readonly credentials: Credentials
  readonly center: CenterFacts
  /** Undefined keeps the name it has. */
  readonly clusterName: string | undefined
  /** How many Pods that have finished are kept. */
  readonly finishedPodLimit?: number | undefined
  /** How long Events are kept after their last change. */
  readonly eventTtlMs?: number | undefined
  readonly cards: readonly Card[]
  readonly network: PodNetwork
  readonly isolation: Isolation
  readonly services: ServiceNetwork
  readonly config: ConfigFile
  readonly host: string
  readonly port: number
  /** A socket that listens there already, where that is not in this program's own network. */
  readonly outside?: number | undefined
  readonly tls: KeyAndCertificate & { readonly ca: string }
  /** A known model to bring into the claim of user data in the background. */
  readonly fetchModel: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** A cluster on this machine: control plane, node, and the controllers of core kinds and Models. */
export class EmbeddedCluster {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  readonly #options: EmbeddedClusterOptions
  readonly #controlPlane: ControlPlane
  readonly #informers: Informers
  readonly #logHub = new LogHub()
  readonly #programs: EnginePrograms
  readonly #runtime: ProcessRuntime
  readonly #cards: ClusterCards
  /** How a wake is quicker than its writes. */
  readonly foresight: WakeForesight
  #operator: ModelController | undefined
  #workloads: WorkloadControllers | undefined
  #node: NodeAgent | undefined
  #isNew = false

  constructor(options: EmbeddedClusterOptions) {
    this.#options = options
    const { directory, identity, center, tls, host, port, clock, log, metrics } = options
    this.#programs = enginePrograms(center.registry, options.config.images)
    this.#runtime = this.#makeRuntime()
    const actors = {
      operator: (coming: ComingReplicas) => this.#operator?.foresee(coming),
      scheduler: (pod: Pod) => this.#workloads?.foresee(pod),
      node: (pod: Pod) => this.#node?.foresee(pod),
    }
    this.foresight = new WakeForesight(actors, () => options.store.gather())
    const logs = new PodLogs({ dataDir: directory.root, hub: this.#logHub, clock })
    this.#controlPlane = new ControlPlane({
      store: options.store,
      identity,
      registry: center.registry,
      tls,
      serviceAccountKey: openServiceAccountKey(directory),
      host,
      port,
      outside: options.outside,
      services: options.services,
      podAccess: new NodePodAccess({ logs, runtime: this.#runtime, network: options.network, clock }),
      rules: [modelsIn(gatewayNamespace)],
      plugins: [modelCardWarning(() => this.#cards.facts()), this.foresight.admission],
      clock,
      log,
      metrics,
    })
    this.client = this.#controlPlane.client
    this.#informers = new Informers({ client: this.client, clock, log })
    this.caches = clusterCaches(this.#informers)
    const { profiles: table } = options.config
    this.#cards = new ClusterCards({ own: options.cards.map(({ kind }) => kind), nodes: this.caches.nodes, table })
  }

  get address(): string {
    return this.#controlPlane.address
  }

  /** True when this start was the data directory's first. */
  get isNew(): boolean {
    return this.#isNew
  }

  /** The kind of card that a Model's Pods hold; undefined when nobody can say. */
  cardKindOf(model: Model): string | undefined {
    return resolveProfile(parseResourceProfile(model.spec.resourceProfile).profile, this.#cards.facts())?.card
  }

  /** For people: an Event, now that one can be written. */
  tellInterruption(interruption: StoreInterruption): void {
    this.#controlPlane.tellInterruption(interruption)
  }

  /** In the order they start. `busy` tells how many requests a Pod is serving. */
  components(busy: (model: string, podName: string) => number): readonly Component[] {
    const { directory, network, services, clock, log, metrics, fetchModel: name } = this.#options
    const fetch =
      name === undefined ? undefined : new DemoModelFetch({ name, dataDirectory: directory.root, clock, log })
    const runtime = this.#runtime
    const node = this.#nodeAgent(runtime)
    this.#node = node
    const files = new ClaimFiles(volumesDirectory(directory.root), fetch?.status)
    this.#workloads = this.#workloadControllers()
    return [
      this.#controlPlane,
      { name: 'home', start: () => this.#createHome() },
      this.#informers,
      this.#workloads,
      clusterIpRole({ client: this.client, caches: this.caches, range: services.range, network, clock, log }),
      dnsRole({ client: this.client, caches: this.caches, address: services.dns, clock, log, metrics }),
      networkRulesRole({
        network,
        folder: directory.folder('node'),
        caches: this.caches,
        dns: services.dns,
        clock,
        log,
      }),
      { name: 'runtime', stop: () => runtime.close() },
      node,
      new ConfiguredImages({ images: this.#options.config.images, dataDirectory: directory.root, log }),
      ...(fetch ? [{ name: 'model fetch', start: () => fetch.start(), stop: () => fetch.stop() }] : []),
      this.#modelController(files, busy),
    ]
  }

  /** Serves what there is, and does nothing with it: no Pod is started, nothing is made or deleted. */
  quietComponents(): readonly Component[] {
    return [this.#controlPlane, { name: 'home', start: () => this.#createHome() }, this.#informers]
  }

  #workloadControllers(): WorkloadControllers {
    const { directory, tls, finishedPodLimit, eventTtlMs, clock, log } = this.#options
    return new WorkloadControllers({
      client: this.client,
      finalizeNamespace: (name) => this.#controlPlane.client.finalizeNamespace(name),
      servedKinds: () => this.#controlPlane.client.servedKinds(),
      rootCertificate: tls.ca,
      quotaCounts: this.#controlPlane.quotas,
      claimFolders: new ClaimFolders(volumesDirectory(directory.root)),
      finishedPodLimit,
      eventTtlMs,
      foresee: this.foresight.placement,
      clock,
      log,
    })
  }

  async #createHome(): Promise<void> {
    const { identity, clusterName, center, credentials, clock } = this.#options
    this.#isNew = (await this.client.get(clusterKind, { name: identity.clusterId })) === undefined
    const facts = { clusterId: identity.clusterId, clusterName, center, credentials, now: clock.now() }
    await createHomeResources(this.client, facts)
    await this.#reserveClaimFolders()
  }

  /**
   * Of two claims of one name, the one that has its volume longest keeps the folder that both had in former versions.
   */
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
    const { directory, center, isolation, network, clock, log } = this.#options
    const imported = new ImportedImages(imagesFolder(directory.root), center.registry)
    const images = new ImageStore(this.#programs.images, imported)
    const logHub = this.#logHub
    return new ProcessRuntime({
      dataDir: directory.root,
      images,
      isolation,
      networks: {
        nextNetwork: () => network.nextNamespace,
        onNextNetwork: (listener) => network.onNextNamespace(listener),
      },
      hostIP: network.hostIP,
      hostIP6: network.hostIP6,
      clock,
      log,
      logHub,
    })
  }

  #nodeAgent(runtime: ProcessRuntime): NodeAgent {
    const { cards, network, services, clock, log } = this.#options
    const { dns } = services
    return new NodeAgent({
      name: nodeName(hostname()),
      client: this.client,
      runtime,
      cards,
      network,
      ...(dns !== undefined && {
        names: (pod, podIPs) => podNames(pod, podIPs, { clusterDomain, nameserver: dns }),
      }),
      clock,
      log,
      version,
      tokens: async (pod, audience, seconds) => this.#controlPlane.podToken(pod, audience, seconds),
      serviceVariables: (pod) => serviceVariables(pod, this.caches.services.list()),
    })
  }

  #modelController(files: ClaimFiles, busy: (model: string, podName: string) => number): Component {
    const { center, clock, log } = this.#options
    const { models, pods, secrets } = this.caches
    const { vllmUnavailable } = this.#programs
    const controller = new ModelController({
      client: this.client,
      models,
      pods,
      secrets,
      events: new EventRecorder({
        client: this.client,
        component: 'sluice-operator',
        clock,
        log,
        settleMs: eventSettleMs,
      }),
      files,
      clock,
      log,
      registry: center.registry,
      version,
      wakingStatusMs: 100,
      podNewsMs: 20,
      profiles: () => this.#cards.facts(),
      onProfilesChange: (callback) => this.#cards.onChange(callback),
      engineUnavailable: (engine) => (engine === 'VLLM' ? vllmUnavailable : undefined),
      busy: (podName) => {
        const pod = pods.get({ namespace: gatewayNamespace, name: podName })
        const model = pod && controllingModel(pod)
        return model === undefined ? 0 : busy(model.name, podName)
      },
    })
    this.#operator = controller
    return backgroundTask('operator', (signal) => controller.run(signal))
  }
}

/** A host's name as a DNS label. */
export function nodeName(host: string): string {
  const label = (host.toLowerCase().split('.')[0] ?? '').replaceAll(/[^a-z0-9-]/g, '-').replaceAll(/^-+|-+$/g, '')
  return label.slice(0, 63) || 'node'
}
