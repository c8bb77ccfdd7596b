import { availableParallelism, hostname } from 'node:os'
import { exportControllerFigures } from '../cluster/controller-figures.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import { Lifecycle } from '../foundation/lifecycle.ts'
import { LoopBoard } from './loop-watch/loop-board.ts'
import { LoopWatch } from './loop-watch/loop-watch.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { Card } from '../node/cards/card.ts'
import { detectCards } from '../node/cards/gpu-inventory.ts'
import { programRunner } from '../node/processes/run-program.ts'
import { leaveUserNetwork } from '../node/network/user/user-network.ts'
import { gatewayNamespace, gatewayServiceName } from '../resources/model-labels.ts'
import { userDataClaim } from '../resources/persistent-volume-claim.ts'
import { exposedHostLabel } from '../resources/service-exporter.ts'
import { auditFile } from './audit/audit-files.ts'
import { AuditTrail } from './audit/audit-trail.ts'
import { CertificateAuthority } from './data/certificates.ts'
import { type StoreInterruption, openClusterStore } from './cluster-store.ts'
import { LiveCenters } from './live-center.ts'
import { MachineCards } from '../node/cards/machine-cards.ts'
import { StoreThread } from '../store/sqlite-file/store-thread.ts'
import { compileEngine } from './models/compiled-engine.ts'
import { type ConfigFile, readConfigFile } from './data/config-file.ts'
import { DataDirectory } from './data/data-directory.ts'
import { HomeCluster } from './home-cluster.ts'
import { ClusterImages } from './images/cluster-images.ts'
import { ClusterController } from './clusters/cluster-controller.ts'
import { ClusterFolders } from './clusters/cluster-folders.ts'
import { homeStays, modelsAreAtHome } from './clusters/cluster-rules.ts'
import { ClusterSecrets } from './clusters/cluster-secrets.ts'
import { watchAttachedCluster } from './clusters/attached-cluster.ts'
import { type FurtherRules, type Machine, reserveCards, startFurtherCluster } from './clusters/further-cluster.ts'
import { homeAsCluster } from './clusters/home-as-cluster.ts'
import { shareOf } from './clusters/node-share.ts'
import { EdgeCertificate } from './edge-certificate.ts'
import { JoinedRoutes } from '../exposure/joined-routes.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import { connectKubernetesText } from '../cluster/kubernetes-client.ts'
import { ExposureRole } from './roles/exposure-role.ts'
import { GatewayRole } from './roles/gateway-role.ts'
import {
  centerFacts,
  createDemoModel,
  createGatewayResources,
  demoModelName,
  recordAddresses,
} from './home-resources.ts'
import { openCredentials, openIdentity } from './data/identity.ts'
import { renderKubeconfig } from './data/kubeconfig.ts'
import { KeyEvents } from './key-events.ts'
import { urlHost } from './listen.ts'
import { openLogFile } from './data/log-file.ts'
import { ManagementRole } from './roles/management-role.ts'
import { defaultServingThreads } from './serving/serving-count.ts'
import { ServedCertificate } from './data/served-certificate.ts'
import { ServingRole } from './roles/serving-role.ts'
import { safeModeNotes } from './safe-mode.ts'
import { OutsideListeners } from './outside-listeners.ts'
import { networkNotes, openPodNetwork } from './roles/pod-network-role.ts'
import { apiServerNames } from './services/service-network.ts'
import { collectStartGarbage } from './data/start-garbage.ts'
import { StartRecord, crashesBeforeSafeMode } from './data/start-record.ts'
import type { Endpoints, UpOptions } from './up-options.ts'
import { version } from './version.ts'

/** What a person wants to know once everything runs. */
export interface UpFacts {
  readonly endpoints: Endpoints
  readonly clusterName: string
  readonly dataDirectory: string
  readonly kubeconfigPath: string
  readonly credentialsPath: string
  readonly accessKey: string
  /** Of the demo model, when there is one. */
  readonly demoModel: string | undefined
  /** `2 × nvidia.com/gpu-l40s (simulated)` */
  readonly cards: string
  readonly notes: readonly string[]
}

export interface RunningPlatform {
  readonly facts: UpFacts
  /** Resolves when everything has stopped. */
  readonly ended: Promise<void>
}

/** `sluice up`: a whole cluster in this process. Stops everything when the signal is aborted. */
export async function startUp(
  asked: UpOptions,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<RunningPlatform> {
  const config = await readConfigFile(asked.config)
  const notes: string[] = []
  const problem = (message: string) => void notes.push(message)
  const cards = await detectCards(asked.gpus, { run: programRunner(clock, cardDeadlineMs), signal, problem })
  if (asked.gateway && cards.length === 0) throw new SluiceError('gateway_needs_card')
  const directory = DataDirectory.open(asked.data)
  // What a reader finds here is true: there only while everything runs.
  directory.remove('endpoints.json')
  const log = openLogFile(directory.path('logs', 'sluice.log'))
  const starts = new StartRecord(directory, clock, version)
  const isSafe = asked.safeMode ?? starts.crashes >= crashesBeforeSafeMode
  if (isSafe) notes.push(...safeModeNotes({ directory, crashes: starts.crashes, now: clock.now(), log }))
  const options = isSafe ? { ...asked, gateway: false, demoModel: false } : asked
  const lifecycle = new Lifecycle({ log, clock })
  lifecycle.add({ name: 'data directory', stop: () => directory.close() })
  lifecycle.add({ name: starts.name, stop: () => starts.stop() })
  const stopped = onAbort(signal).then(() => lifecycle.stop())
  // The program ends then, as Node ends it; its Pods go on, and the next start adopts them.
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    log.fatal({ err: error, origin }, 'sluice ends: nobody caught an error')
  })
  try {
    const parts = { directory, cards, config, notes, lifecycle, clock, log: log.child({}) }
    const facts = await compose({ ...options, startsPods: !isSafe }, parts)
    starts.start()
    log.info({ pid: process.pid, clusterId: facts.endpoints.clusterId }, 'sluice is up')
    collectStartGarbage()
    if (!isSafe) compileEngine(log, signal)
    return { facts, ended: stopped }
  } catch (error) {
    await lifecycle.stop()
    throw error
  }
}

/** How long the machine may take to say which cards it has. */
const cardDeadlineMs = 15_000

interface Parts {
  readonly directory: DataDirectory
  readonly cards: readonly Card[]
  readonly config: ConfigFile
  readonly notes: readonly string[]
  readonly lifecycle: Lifecycle
  readonly clock: Clock
  readonly log: ReturnType<typeof openLogFile>
}

async function compose(
  options: UpOptions & { readonly startsPods: boolean },
  { directory, cards, config, notes, lifecycle, clock, log }: Parts,
): Promise<UpFacts> {
  const { host, ports } = options
  const outside = new OutsideListeners(options)
  const identity = openIdentity(directory, options.center)
  const credentials = openCredentials(directory)
  const center = centerFacts(identity.center)
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
  const hosts = [...new Set([urlHost(host), 'localhost', '127.0.0.1', hostname()])]
  const { isolation, network, services } = await openPodNetwork({
    directory,
    clusterId: identity.clusterId,
    choice: options.podNetwork,
    ipv6: options.podIpv6,
    userNetwork: options.userNetwork,
    clock,
    log,
  })
  // Not in safe mode: Pods of former runs may be in it, and nobody looked.
  if (options.startsPods) lifecycle.add({ name: 'Pod network', stop: () => network.close() })
  const inside = [services.apiServer, ...apiServerNames]
  const controlPlane = await authority.issueServer([...hosts, ...inside], clock.now())
  const controlPlaneTls = { ...controlPlane, ca: authority.certificate }
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
    credentials,
    cards: machineCards,
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
    fetchModel: options.demoModel ? demoModelName : undefined,
    clock,
    log,
    metrics,
  })
  const { cluster, caches } = home
  const centers = new LiveCenters(caches.centers)
  tellInterruption = (interruption) => cluster.controlPlane.tellInterruption(interruption)
  const { client } = cluster
  const common = { client, caches, host, clock, log, metrics }
  const threads = options.gatewayWorkers ?? defaultServingThreads(availableParallelism(), process.platform)
  const gateway = options.gateway
    ? new GatewayRole({
        ...common,
        threads,
        idleWindowMs: options.idleWindowMs,
        wakeDeadlineMs: options.wakeDeadlineMs,
        cardPreemption: options.cardPreemption,
        requireApiKeys: options.requireApiKeys,
        trustedProxies: options.trustedProxies,
        bodyLimitBytes: options.bodyLimitBytes,
        cardKindOf: (model) => home.cardKindOf(model),
        foresight: cluster.foresight,
      })
    : undefined
  const onDomainChange = (listener: () => void) => centers.onChange(listener)
  const edgeCertificate = await EdgeCertificate.issue({
    authority,
    hosts,
    domains: () => centers.domainsWith(center.code),
    onDomainChange,
    clock,
    log,
  })
  const files = options.exposureCertificate
  const certificate = await ServedCertificate.open({ files, made: edgeCertificate, clock, log })
  const joined = new JoinedRoutes()
  const exposureOf: Machine['exposure'] = (of) =>
    new ExposureRole({
      ...of,
      joined,
      onDomainChange,
      port: ports.exposure,
      listening: () => serving.exposure,
      clock,
      log,
    })
  const proxyDomain = () => centers.of(center.code).proxyDomain
  const exposure = exposureOf({
    client,
    caches,
    clusterId: identity.clusterId,
    proxyDomain,
    gateway: () => serving.gateway && { host: urlHost(host), port: serving.gateway.port },
  })
  const machine: Machine & FurtherRules = {
    directory,
    storeThread,
    listener: cluster.controlPlane.listener,
    cards: machineCards,
    isolation,
    podNetwork: options.podNetwork,
    podIpv6: options.podIpv6,
    provenIpv6: network.hostIP6 !== undefined,
    userNetwork: options.userNetwork,
    config,
    centers,
    hosts,
    exposure: exposureOf,
    rules: [modelsAreAtHome(identity.clusterId)],
    finishedPodLimit: options.finishedPodLimit,
    eventTtlMs: options.eventTtlMs,
    clock,
    log,
  }
  const serving: ServingRole = new ServingRole({
    ...common,
    clusterId: identity.clusterId,
    count: threads,
    gateway: gateway && { port: ports.gateway, served: gateway.served, outside: outside.takeAll('gateway') },
    exposure: {
      port: ports.exposure,
      served: { tls: certificate, routes: joined },
      outside: outside.takeAll('exposure'),
    },
    logPath: directory.path('logs', 'sluice.log'),
    ownerLoop: board.shape,
  })
  const clusters = new ClusterController({
    client,
    clusters: caches.clusters,
    folders: clusterFolders,
    secrets: new ClusterSecrets(client),
    events: new EventRecorder({ client, component: 'sluice-clusters', clock, log }),
    home: homeAsCluster(home),
    startEmbedded: (record, resource) => startFurtherCluster(record, resource, machine),
    attach: async (id, kubeconfig) =>
      watchAttachedCluster({ id, client: await connectKubernetesText(kubeconfig), clock, log }),
    clock,
    log,
  })
  const management = new ManagementRole({
    ...common,
    homeId: identity.clusterId,
    running: (name) => clusters.running(name),
    port: ports.management,
    outside: outside.take('management'),
  })
  outside.closeUnused()

  lifecycle.add(serving.early)
  const busy = (model: string, pod: string) => gateway?.busy(model, pod) ?? 0
  const components = options.startsPods ? home.components(busy) : cluster.quietComponents()
  for (const component of components) lifecycle.add(component)
  lifecycle.add(new KeyEvents({ client, keys: caches.keys, clock, log }))
  // Whoever waits is sent away before the threads end what is being answered.
  lifecycle.add(serving)
  if (gateway) lifecycle.add(gateway)
  lifecycle.add(edgeCertificate)
  lifecycle.add(certificate)
  lifecycle.add(exposure)
  lifecycle.add(management)
  lifecycle.add({
    name: 'home resources',
    async start() {
      await recordAddresses(client, {
        center: center.code,
        clusterId: identity.clusterId,
        management: management.url,
        controlPlane: cluster.address,
      })
      if (serving.gateway) await createGatewayResources(client, { ...serving.gateway, host: urlHost(host) })
      if (gateway && options.demoModel && home.isNew) await createDemoModel(client)
    },
  })
  if (options.startsPods) lifecycle.add(clusters)
  let followCenters = () => {}
  lifecycle.add({
    name: 'endpoints.json',
    stop() {
      followCenters()
      directory.remove('endpoints.json')
    },
  })
  await lifecycle.start()

  directory.write(
    'kubeconfig',
    renderKubeconfig({
      server: cluster.address,
      ca: authority.certificate,
      token: identity.adminToken,
      clusterId: identity.clusterId,
      namespace: gatewayNamespace,
    }),
  )
  const hostLabel = exposedHostLabel(gatewayServiceName, gatewayNamespace, identity.clusterId)
  const writeEndpoints = (): Endpoints => {
    const endpoints: Endpoints = {
      clusterId: identity.clusterId,
      management: management.url,
      controlPlane: cluster.address,
      gateway: serving.gateway ? `http://${urlHost(host)}:${serving.gateway.port}` : null,
      exposure: exposure.url,
      gatewayExposed: gateway ? exposure.urlOf(hostLabel) : null,
      registry: registry(),
      ca: directory.path('pki', 'ca.crt'),
      pid: process.pid,
    }
    directory.write('endpoints.json', `${JSON.stringify(endpoints, null, 2)}\n`)
    return endpoints
  }
  const endpoints = writeEndpoints()
  followCenters = centers.onChange(() => void writeEndpoints())
  return {
    endpoints,
    clusterName: caches.clusters.get({ name: identity.clusterId })?.spec.displayName ?? '',
    dataDirectory: directory.root,
    kubeconfigPath: directory.path('kubeconfig'),
    credentialsPath: directory.path('credentials.json'),
    accessKey: credentials.accessKey,
    demoModel: caches.models.get({ namespace: gatewayNamespace, name: demoModelName })?.metadata.name,
    cards: describeCards(cards),
    notes: [...notes, ...networkNotes(options.podNetwork, network.facts)],
  }
}

function describeCards(cards: readonly Card[]): string {
  const kinds = Map.groupBy(cards, (card) => `${card.kind}${card.simulated ? ' (simulated)' : ''}`)
  return [...kinds].map(([kind, group]) => `${group.length} × ${kind}`).join(', ') || 'none'
}

function onAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
