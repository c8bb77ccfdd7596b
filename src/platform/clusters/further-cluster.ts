import type { AdmissionRule } from '../../apiserver/admission/admission.ts'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import { Lifecycle } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { heldCards } from '../../node/cards/held-cards.ts'
import type { MachineCards } from '../../node/cards/machine-cards.ts'
import type { Isolation } from '../../node/isolation/detect-isolation.ts'
import type { NetworkChoice } from '../../node/network/open-network.ts'
import type { UserNetworkFacts } from '../../node/network/user/user-network.ts'
import { type Cluster, controlPlaneName } from '../../resources/cluster.ts'
import { modelKind } from '../../resources/model.ts'
import { serviceExporterKind } from '../../resources/service-exporter.ts'
import type { StoreThread } from '../../store/sqlite-file/store-thread.ts'
import { openClusterStore } from '../cluster-store.ts'
import type { ControlPlaneListener } from '../control-plane-listener.ts'
import { CertificateAuthority } from '../data/certificates.ts'
import type { ConfigFile } from '../data/config-file.ts'
import type { DataDirectory } from '../data/data-directory.ts'
import { renderKubeconfig } from '../data/kubeconfig.ts'
import { EmbeddedCluster } from '../embedded-cluster.ts'
import { createClusterResources } from '../home-resources.ts'
import { ClusterImages } from '../images/cluster-images.ts'
import type { LiveCenters } from '../live-center.ts'
import type { ExposureRole, ExposureRoleOptions } from '../roles/exposure-role.ts'
import { openPodNetwork } from '../roles/pod-network-role.ts'
import { apiServerNames } from '../services/service-network.ts'
import { ClusterFault } from './cluster-fault.ts'
import type { ClusterFolder, ClusterFolders } from './cluster-folders.ts'
import { shareOf } from './node-share.ts'
import type { RunningCluster } from './running-cluster.ts'

/** The holder of cards of a cluster that has not been started yet, but whose former run may have left Pods running. */
const formerRun = (id: string) => `the former run of ${id}`

/**
 * After a crash, Pods of further clusters go on, but these clusters are started later than the home cluster. Reserves
 * their cards until then, so that nobody else gets them.
 */
export function reserveCards(cards: MachineCards, folders: ClusterFolders): void {
  const known = new Set(cards.all.map(({ index }) => index))
  for (const [id, root] of folders.roots) {
    cards.hold(
      formerRun(id),
      heldCards(root).filter((index) => known.has(index)),
    )
  }
}

/** What all clusters of the machine share. */
export interface Machine {
  readonly directory: DataDirectory
  readonly storeThread: StoreThread
  readonly listener: ControlPlaneListener
  readonly cards: MachineCards
  readonly isolation: Isolation
  readonly podNetwork: NetworkChoice
  readonly podIpv6?: boolean | undefined
  /** Whether Pods of the home cluster have it. */
  readonly provenIpv6: boolean
  readonly userNetwork?: UserNetworkFacts | undefined
  readonly config: ConfigFile
  readonly centers: LiveCenters
  /** The names by which programs on this machine reach the control plane. */
  readonly hosts: readonly string[]
  /** Adds a cluster's exposed services to the edge. */
  exposure(of: Pick<ExposureRoleOptions, 'client' | 'caches' | 'clusterId' | 'proxyDomain' | 'gateway'>): ExposureRole
  readonly finishedPodLimit?: number | undefined
  readonly eventTtlMs?: number | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** What a further cluster refuses, in addition to what every cluster does. */
export interface FurtherRules {
  readonly rules: readonly AdmissionRule[]
}

/**
 * Starts a cluster beside the home cluster, in the same process. They share no objects, users or keys: whoever is known
 * in one cluster is unknown in the others.
 */
export async function startFurtherCluster(
  record: ClusterFolder,
  cluster: Cluster,
  machine: Machine & FurtherRules,
): Promise<RunningCluster> {
  const { id, folder } = record
  const { directory, listener, centers, clock } = machine
  const log = machine.log.child({ cluster: id })
  const { center } = cluster.spec
  if (!centers.find(center)) throw new ClusterFault('CenterNotFound', `there is no compute center ${center}`)
  const registry = () => centers.of(center).registry
  // Its own metrics, since not everybody may see them.
  const metrics = new Metrics()
  let current = cluster
  let onTrouble = () => {}
  const [authority, opened, store] = await Promise.all([
    CertificateAuthority.open(folder, clock.now()),
    openPodNetwork({
      directory: folder,
      clusterId: id,
      choice: machine.podNetwork,
      ipv6: machine.podIpv6,
      provenIpv6: machine.provenIpv6,
      userNetwork: machine.userNetwork,
      isolation: machine.isolation,
      clock,
      log,
    }),
    openClusterStore({
      path: folder.path('sluice.db'),
      thread: machine.storeThread,
      clock,
      log,
      metrics,
      onTrouble: () => onTrouble(),
    }),
  ])
  const { network, services, isolation } = opened
  const names = [controlPlaneName(id), ...machine.hosts, services.apiServer, ...apiServerNames]
  const tls = { ...(await authority.issueServer(names, clock.now())), ca: authority.certificate }
  folder.folder('volumes')
  const embedded = new EmbeddedCluster({
    directory: folder,
    store,
    identity: { clusterId: id, adminToken: record.adminToken },
    registry,
    images: new ClusterImages({
      folder,
      dataDirectory: directory.root,
      configured: machine.config.images,
      registry,
      owner: id,
    }),
    finishedPodLimit: machine.finishedPodLimit,
    eventTtlMs: machine.eventTtlMs,
    cards: machine.cards,
    share: () => shareOf(current),
    network,
    isolation,
    services,
    at: listener,
    tls,
    customKinds: [modelKind, serviceExporterKind],
    rules: machine.rules,
    furnish: (client: ClusterClient) => createClusterResources(client),
    clock,
    log,
    metrics,
  })
  const { client, caches } = embedded
  const exposure = machine.exposure({
    client,
    caches,
    clusterId: id,
    proxyDomain: () => centers.of(center).proxyDomain,
  })
  const lifecycle = new Lifecycle({ log, clock })
  lifecycle.add({ name: 'Pod network', stop: () => network.close() })
  for (const component of embedded.components()) lifecycle.add(component)
  lifecycle.add(exposure)
  await lifecycle.start()
  // The node has taken over what still runs, together with its cards.
  machine.cards.release(formerRun(id))
  const server = embedded.address
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  onTrouble = tell
  caches.nodes.onChange(tell)
  return {
    id,
    controlPlane: server,
    kubeconfig: renderKubeconfig({
      server,
      tlsServerName: controlPlaneName(id),
      ca: authority.certificate,
      token: record.adminToken,
      clusterId: id,
      namespace: 'default',
    }),
    nodes: caches.nodes,
    pods: caches.pods,
    silence: () => store.failure?.message,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    update(changed) {
      const before = JSON.stringify(current.spec.quota)
      current = changed
      if (JSON.stringify(changed.spec.quota) !== before) embedded.shareChanged()
    },
    close: () => lifecycle.stop(),
  }
}
