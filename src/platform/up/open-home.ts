import { exportControllerFigures } from '../../cluster/controller-figures.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Lifecycle } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import type { Card } from '../../node/cards/card.ts'
import { MachineCards } from '../../node/cards/machine-cards.ts'
import { addressesOutside, leaveUserNetwork } from '../../node/network/user/user-network.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import { StoreThread } from '../../store/sqlite-file/store-thread.ts'
import { exposureDomain } from '../addresses/exposure-domain.ts'
import { MachineNames } from '../addresses/machine-names.ts'
import { auditFile } from '../audit/audit-files.ts'
import { AuditTrail } from '../audit/audit-trail.ts'
import { type StoreInterruption, openClusterStore } from '../cluster-store.ts'
import { ClusterFolders } from '../clusters/cluster-folders.ts'
import { homeStays } from '../clusters/cluster-rules.ts'
import { reserveCards } from '../clusters/further-cluster.ts'
import { shareOf } from '../clusters/node-share.ts'
import { CertificateAuthority } from '../data/certificates.ts'
import type { ConfigFile } from '../data/config-file.ts'
import type { DataDirectory } from '../data/data-directory.ts'
import { RenewedCertificate } from '../data/renewed-certificate.ts'
import { openCredentials, openIdentity } from '../data/identity.ts'
import { HomeCluster } from '../home-cluster.ts'
import { centerFacts, demoModelName } from '../home-resources.ts'
import { ClusterImages } from '../images/cluster-images.ts'
import { LiveCenters } from '../live-center.ts'
import { LoopBoard } from '../loop-watch/loop-board.ts'
import { LoopWatch } from '../loop-watch/loop-watch.ts'
import { nodeNames } from '../node-names.ts'
import type { OutsideListeners } from '../outside-listeners.ts'
import { openPodNetwork } from '../roles/pod-network-role.ts'
import { apiServerNames } from '../services/service-network.ts'
import type { UpOptions } from '../up-options.ts'

/** What a `sluice up` found before anything of it was opened. */
export interface UpParts {
  readonly directory: DataDirectory
  readonly cards: readonly Card[]
  readonly config: ConfigFile
  readonly notes: readonly string[]
  /** Tells whoever started this something that they should know while it runs. */
  readonly tell: (message: string) => void
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly log: Logger
}

export type HomeOptions = UpOptions & { readonly startsPods: boolean }

/** The home cluster, with what it shares with everything else of this machine. */
export type OpenedHome = Awaited<ReturnType<typeof openHome>>

/** Opens the data directory's cluster: its identity, its store, its network. Nothing of it runs yet. */
export async function openHome(
  options: HomeOptions,
  { directory, cards, config, tell, lifecycle, clock, log }: UpParts,
  outside: OutsideListeners,
) {
  const { host, ports } = options
  const identity = openIdentity(directory, options.center)
  const credentials = openCredentials(directory)
  const authority = await CertificateAuthority.open(directory, clock.now())
  const metrics = new Metrics()
  metrics.includeProcess()
  const board = new LoopBoard()
  lifecycle.add(new LoopWatch({ loop: 'main', clock, log, metrics, board, watchGarbage: true }))
  exportControllerFigures(metrics)
  const audit = new AuditTrail({ path: auditFile(directory.root), ...options.auditLog, clock, log, metrics })
  lifecycle.add(audit)
  directory.folder('volumes', userDataClaim)

  lifecycle.add({ name: 'user network', stop: () => leaveUserNetwork(options.userNetwork) })
  const { userNetwork } = options
  const isInside = userNetwork !== undefined && 'keeper' in userNetwork
  const read = isInside ? () => addressesOutside(userNetwork) : undefined
  const machineNames = new MachineNames({ host, clock, read })
  lifecycle.add(machineNames)
  const askedDomain = options.exposureDomain && exposureDomain(options.exposureDomain, machineNames.reachable)
  const center = { ...centerFacts(identity.center), ...(askedDomain && { proxyDomain: askedDomain }) }
  const { isolation, network, services } = await openPodNetwork({
    directory,
    clusterId: identity.clusterId,
    choice: options.podNetwork,
    ipv6: options.podIpv6,
    userNetwork: options.userNetwork,
    clock,
    log,
  })
  // In safe mode the network stays: Pods of former runs may still use it, and nobody has looked.
  if (options.startsPods) lifecycle.add({ name: 'Pod network', stop: () => network.close() })
  const inside = [services.apiServer, ...apiServerNames]
  const controlPlaneCertificate = await RenewedCertificate.issue({
    of: 'the control plane',
    authority,
    names: () => [...machineNames.all, ...inside],
    onNamesChange: (listener) => machineNames.onChange(listener),
    clock,
    log,
  })
  lifecycle.add(controlPlaneCertificate)
  const controlPlaneTls = { ...controlPlaneCertificate.current, ca: authority.certificate }
  let tellInterruption: (interruption: StoreInterruption) => void = () => {}
  const storeThread = new StoreThread()
  const store = await openClusterStore({
    path: directory.path('sluice.db'),
    thread: storeThread,
    clock,
    log,
    metrics,
    onInterruption: (interruption) => tellInterruption(interruption),
  })
  const registry = (): string => centers.of(center.code).registry
  const images = new ClusterImages({
    folder: directory,
    dataDirectory: directory.root,
    configured: config.images,
    registry,
    owner: '',
  })
  const machineCards = new MachineCards(cards)
  const clusterFolders = new ClusterFolders(directory)
  reserveCards(machineCards, clusterFolders)
  const home = new HomeCluster({
    directory,
    store,
    identity,
    registry,
    images,
    center,
    isDomainAsked: askedDomain !== undefined,
    credentials,
    cards: machineCards,
    nodeNames: nodeNames(options.nodes ?? 1),
    isolation,
    network,
    services,
    config,
    at: { host, port: ports.controlPlane, outside: outside.take('controlPlane'), audit: audit.write },
    tls: controlPlaneTls,
    rules: [homeStays(identity.clusterId)],
    share: () => shareOf(caches.clusters.get({ name: identity.clusterId }) ?? { spec: {} }),
    clusterName: options.clusterName,
    finishedPodLimit: options.finishedPodLimit,
    eventTtlMs: options.eventTtlMs,
    demoModel: options.demoModel && options.gateway,
    fetchModel: options.demoModel ? demoModelName : undefined,
    tell,
    clock,
    log,
    metrics,
  })
  const { cluster, caches } = home
  const centers = new LiveCenters(caches.centers)
  controlPlaneCertificate.onChange(() =>
    cluster.controlPlane.listener.server.useCertificate({
      ...controlPlaneCertificate.current,
      ca: authority.certificate,
    }),
  )
  tellInterruption = (interruption) => cluster.controlPlane.tellInterruption(interruption)
  return {
    home,
    identity,
    credentials,
    center,
    centers,
    authority,
    machineNames,
    registry,
    storeThread,
    machineCards,
    clusterFolders,
    isolation,
    network,
    board,
    metrics,
    audit,
  }
}
