import { modelsIn } from '../apiserver/admission/model-namespace-rule.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { Component } from '../foundation/lifecycle.ts'
import { resolveProfile } from '../operator/resource-profile.ts'
import { clusterKind } from '../resources/cluster.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import { ClaimFiles } from './claims/claim-files.ts'
import { type HomeCaches, homeCaches } from './cluster-caches.ts'
import type { ConfigFile } from './data/config-file.ts'
import type { Credentials } from './data/identity.ts'
import { EmbeddedCluster, type EmbeddedClusterOptions } from './embedded-cluster.ts'
import { type CenterFacts, createHomeResources } from './home-resources.ts'
import { ConfiguredImages } from './images/configured-images.ts'
import { ClusterCards } from './models/cluster-cards.ts'
import { DemoModelFetch } from './models/demo-model-fetch.ts'
import { modelCardWarning } from './models/model-card-warning.ts'
import { volumesDirectory } from './models/model-storage.ts'
import { settleControllerLease } from './roles/model-lease.ts'
import { operatorRole } from './roles/operator-role.ts'

export interface HomeClusterOptions extends Omit<EmbeddedClusterOptions, 'furnish' | 'plugins'> {
  readonly center: CenterFacts
  readonly credentials: Credentials
  /** If `undefined`, the cluster keeps the name it has. */
  readonly clusterName: string | undefined
  readonly config: ConfigFile
  /** A known model that is fetched in the background into the volume for user data. */
  readonly fetchModel: string | undefined
}

/**
 * The first cluster. It holds the Models, and the resources that describe keys, compute centers and further clusters.
 */
export class HomeCluster {
  readonly cluster: EmbeddedCluster
  readonly caches: HomeCaches
  readonly #options: HomeClusterOptions
  readonly #cards: ClusterCards
  #isNew = false

  constructor(options: HomeClusterOptions) {
    this.#options = options
    this.cluster = new EmbeddedCluster({
      ...options,
      rules: [...(options.rules ?? []), modelsIn(gatewayNamespace)],
      plugins: [modelCardWarning(() => this.#cards.facts())],
      furnish: (client) => this.#createHome(client),
    })
    this.caches = homeCaches(this.cluster.informers, this.cluster.caches)
    const { profiles: table } = options.config
    this.#cards = new ClusterCards({ own: options.cards.all.map(({ kind }) => kind), nodes: this.caches.nodes, table })
  }

  get id(): string {
    return this.#options.identity.clusterId
  }

  /** Whether the data directory was new at this start. */
  get isNew(): boolean {
    return this.#isNew
  }

  /** The kind of card that the Model's Pods use; `undefined` if that is not known. */
  cardKindOf(model: Model): string | undefined {
    return resolveProfile(parseResourceProfile(model.spec.resourceProfile).profile, this.#cards.facts())?.card
  }

  /**
   * The cluster's components, in the order in which they start. `busy` tells how many requests a Pod is serving;
   * without it, Models are left to a controller that runs in the cluster.
   */
  components(busy: ((model: string, podName: string) => number) | undefined): readonly Component[] {
    const { directory, config, clock, log, fetchModel: name } = this.#options
    const fetch =
      name === undefined ? undefined : new DemoModelFetch({ name, dataDirectory: directory.root, clock, log })
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
    const { identity, clusterName, center, credentials, clock } = this.#options
    this.#isNew = (await client.get(clusterKind, { name: identity.clusterId })) === undefined
    const facts = { clusterId: identity.clusterId, clusterName, center, credentials, now: clock.now() }
    await createHomeResources(client, facts)
  }

  #operator(files: ClaimFiles, busy: (model: string, podName: string) => number): Component {
    const { registry, images, clock, log } = this.#options
    const operator = operatorRole({
      client: this.cluster.client,
      caches: this.caches,
      cards: this.#cards,
      files,
      registry,
      engineUnavailable: (engine) => (engine === 'VLLM' ? images.vllmUnavailable : undefined),
      busy,
      clock,
      log,
    })
    this.cluster.operator = operator.foresee
    return operator
  }
}
