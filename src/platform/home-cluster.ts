import { modelsIn } from '../apiserver/admission/model-namespace-rule.ts'
import type { CardNeed } from '../autoscaler/cards.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { Component } from '../foundation/lifecycle.ts'
import { clusterKind } from '../resources/cluster.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import type { Model } from '../resources/model.ts'
import { ClaimFiles } from './claims/claim-files.ts'
import { type HomeCaches, homeCaches } from './cluster-caches.ts'
import type { ConfigFile } from './data/config-file.ts'
import type { Credentials } from './data/identity.ts'
import { EmbeddedCluster, type EmbeddedClusterOptions } from './embedded-cluster.ts'
import { type CenterFacts, createDemoModel, createHomeResources } from './home-resources.ts'
import { ConfiguredImages } from './images/configured-images.ts'
import { cardsOfReplica } from './models/cards-of-replica.ts'
import { ClusterCards } from './models/cluster-cards.ts'
import { DemoModelFetch } from './models/demo-model-fetch.ts'
import { modelWarning } from './models/model-warning.ts'
import { volumesDirectory } from './models/model-storage.ts'
import { cardsByNode, nodeNames } from './node-names.ts'
import { settleControllerLease } from './roles/model-lease.ts'
import { operatorRole } from './roles/operator-role.ts'

export interface HomeClusterOptions extends Omit<EmbeddedClusterOptions, 'furnish' | 'plugins'> {
  readonly center: CenterFacts
  /** Whether the center's domain was asked for at this start, and counts though it had another. */
  readonly isDomainAsked: boolean
  readonly credentials: Credentials
  /** If `undefined`, the cluster keeps the name it has. */
  readonly clusterName: string | undefined
  readonly config: ConfigFile
  /** Whether a new directory begins with a Model. */
  readonly demoModel: boolean
  /** A known model that is fetched in the background into the volume for user data. */
  readonly fetchModel: string | undefined
  /** Tells whoever started this something that they should know while it runs. */
  readonly tell: (message: string) => void
}

/**
 * The first cluster. It holds the Models, and the resources that describe keys, compute centers and further clusters.
 */
export class HomeCluster {
  readonly cluster: EmbeddedCluster
  readonly caches: HomeCaches
  readonly #options: HomeClusterOptions
  readonly #cards: ClusterCards

  constructor(options: HomeClusterOptions) {
    this.#options = options
    this.cluster = new EmbeddedCluster({
      ...options,
      isHome: true,
      rules: [...(options.rules ?? []), modelsIn(gatewayNamespace)],
      plugins: [modelWarning(() => this.#cards.facts(), options.config.engines)],
      furnish: (client) => this.#createHome(client),
    })
    this.caches = homeCaches(this.cluster.informers, this.cluster.caches)
    const { profiles: table } = options.config
    const own = cardsByNode(options.cards.all, options.nodeNames ?? nodeNames(1))
    // Without the cluster's DNS, the members of a group cannot look each other up.
    const groupsUnavailable =
      options.services.dns === undefined ? 'Pods have no names here (see --pod-network)' : undefined
    this.#cards = new ClusterCards({ own, nodes: this.caches.nodes, table, groupsUnavailable })
  }

  get id(): string {
    return this.#options.identity.clusterId
  }

  /** The cards of a replica of the Model; `undefined` if that is not known. */
  cardsOf(model: Model): CardNeed | undefined {
    return cardsOfReplica(model, this.#cards.facts(), this.#options.config.engines)
  }

  /**
   * The cluster's components, in the order in which they start. `busy` tells how many requests a Pod is serving;
   * without it, Models are left to a controller that runs in the cluster.
   */
  components(busy: ((model: string, podName: string) => number) | undefined): readonly Component[] {
    const { directory, config, clock, log, tell, fetchModel: name } = this.#options
    const fetch =
      name === undefined ? undefined : new DemoModelFetch({ name, dataDirectory: directory.root, tell, clock, log })
    const files = new ClaimFiles(volumesDirectory(directory.root), fetch?.status)
    return [
      ...this.cluster.components(),
      new ConfiguredImages({ images: config.images, dataDirectory: directory.root, log }),
      ...(fetch ? [{ name: 'model fetch', start: () => fetch.start(), stop: () => fetch.stop() }] : []),
      {
        name: 'lease of the controller',
        start: () => settleControllerLease(this.cluster.client, busy !== undefined, clock.now()),
      },
      ...(busy ? [this.#operator(files, busy)] : []),
    ]
  }

  async #createHome(client: ClusterClient): Promise<void> {
    const { identity, clusterName, center, isDomainAsked, credentials, clock } = this.#options
    const isNew = (await client.get(clusterKind, { name: identity.clusterId })) === undefined
    const facts = { clusterId: identity.clusterId, clusterName, center, isDomainAsked, credentials, now: clock.now() }
    await createHomeResources(client, facts)
    // Before anything listens: whoever asks for it at once must not be told that it does not exist.
    if (isNew && this.#options.demoModel) await createDemoModel(client)
  }

  #operator(files: ClaimFiles, busy: (model: string, podName: string) => number): Component {
    const { registry, images, config, clock, log } = this.#options
    const operator = operatorRole({
      client: this.cluster.client,
      caches: this.caches,
      cards: this.#cards,
      files,
      registry,
      engines: config.engines,
      readLogTail: (pod, container, signal) => this.cluster.readLogTail(pod, container, signal),
      imageUnavailable: (image) => images.whyUnavailable(image),
      busy,
      clock,
      log,
    })
    this.cluster.operator = operator.foresee
    return operator
  }
}
