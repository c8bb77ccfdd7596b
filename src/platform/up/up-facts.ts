import type { Component } from '../../foundation/lifecycle.ts'
import type { Card } from '../../node/cards/card.ts'
import { gatewayNamespace, gatewayServiceName } from '../../resources/model-labels.ts'
import { exposedHostLabel } from '../../resources/service-exporter.ts'
import { pageNotes } from '../built-pages.ts'
import type { DataDirectory } from '../data/data-directory.ts'
import { renderKubeconfig } from '../data/kubeconfig.ts'
import { demoModelName } from '../home-resources.ts'
import { urlHost } from '../listen.ts'
import type { ExposureRole } from '../roles/exposure-role.ts'
import type { ManagementRole } from '../roles/management-role.ts'
import { networkNotes } from '../roles/pod-network-role.ts'
import type { ServingRole } from '../roles/serving-role.ts'
import type { Endpoints, UpOptions } from '../up-options.ts'
import type { OpenedHome, UpParts } from './open-home.ts'

/** What `sluice up` prints once everything runs. */
export interface UpFacts {
  readonly endpoints: Endpoints
  readonly clusterName: string
  readonly dataDirectory: string
  readonly kubeconfigPath: string
  readonly credentialsPath: string
  readonly accessKey: string
  /** The demo model's name, if there is one. */
  readonly demoModel: string | undefined
  /** For example `2 × nvidia.com/gpu-l40s (simulated)`. */
  readonly cards: string
  /** The addresses at which other machines can ask. */
  readonly reachable: readonly string[]
  /** Whether the gateway asks for keys. */
  readonly asksForKeys: boolean
  readonly notes: readonly string[]
}

export interface EndpointsFileOptions {
  readonly options: Pick<UpOptions, 'host'>
  readonly opened: OpenedHome
  readonly directory: DataDirectory
  readonly serving: ServingRole
  readonly management: ManagementRole
  readonly exposure: ExposureRole
}

/** Writes into the data directory where everything is, once it runs: kubeconfig and endpoints.json. */
export class EndpointsFile implements Component {
  readonly name = 'endpoints.json'
  readonly #options: EndpointsFileOptions
  #unfollow = () => {}

  constructor(options: EndpointsFileOptions) {
    this.#options = options
  }

  start(): void {
    const { directory, opened } = this.#options
    const { home, authority, identity, centers } = opened
    directory.write(
      'kubeconfig',
      renderKubeconfig({
        server: home.cluster.address,
        ca: authority.certificate,
        token: identity.adminToken,
        clusterId: identity.clusterId,
        namespace: gatewayNamespace,
      }),
    )
    this.#write()
    this.#unfollow = centers.onChange(() => this.#write())
  }

  stop(): void {
    this.#unfollow()
    this.#options.directory.remove('endpoints.json')
  }

  get endpoints(): Endpoints {
    const { options, opened, directory, serving, management, exposure } = this.#options
    const { clusterId } = opened.identity
    const hostLabel = exposedHostLabel(gatewayServiceName, gatewayNamespace, clusterId)
    return {
      clusterId,
      management: management.url,
      controlPlane: opened.home.cluster.address,
      gateway: serving.gateway ? `http://${urlHost(options.host)}:${serving.gateway.port}` : null,
      exposure: exposure.url,
      gatewayExposed: serving.gateway ? exposure.urlOf(hostLabel) : null,
      registry: opened.registry(),
      ca: directory.path('pki', 'ca.crt'),
      pid: process.pid,
    }
  }

  #write(): void {
    this.#options.directory.write('endpoints.json', `${JSON.stringify(this.endpoints, null, 2)}\n`)
  }
}

export function upFacts(about: {
  readonly options: UpOptions
  readonly opened: OpenedHome
  readonly parts: UpParts
  readonly endpoints: Endpoints
}): UpFacts {
  const { options, opened, parts, endpoints } = about
  const { directory, cards, notes } = parts
  const { caches } = opened.home
  return {
    endpoints,
    clusterName: caches.clusters.get({ name: endpoints.clusterId })?.spec.displayName ?? '',
    dataDirectory: directory.root,
    kubeconfigPath: directory.path('kubeconfig'),
    credentialsPath: directory.path('credentials.json'),
    accessKey: opened.credentials.accessKey,
    demoModel: caches.models.get({ namespace: gatewayNamespace, name: demoModelName })?.metadata.name,
    cards: describeCards(cards),
    reachable: opened.machineNames.reachable,
    asksForKeys: options.requireApiKeys,
    notes: [...notes, ...pageNotes(), ...networkNotes(options.podNetwork, opened.network.facts)],
  }
}

function describeCards(cards: readonly Card[]): string {
  const kinds = Map.groupBy(cards, (card) => `${card.kind}${card.simulated ? ' (simulated)' : ''}`)
  return [...kinds].map(([kind, group]) => `${group.length} × ${kind}`).join(', ') || 'none'
}
