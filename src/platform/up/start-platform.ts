import { availableParallelism } from 'node:os'
import { EventRecorder } from '../../cluster/event-recorder.ts'
import { connectKubernetesText } from '../../cluster/kubernetes-client.ts'
import { gatewayNamespace, gatewayServiceName } from '../../resources/model-labels.ts'
import { CopyService } from '../backup/copy-service.ts'
import { watchAttachedCluster } from '../clusters/attached/attached-cluster.ts'
import { ClusterController } from '../clusters/cluster-controller.ts'
import { modelsAreAtHome } from '../clusters/cluster-rules.ts'
import { ClusterSecrets } from '../clusters/cluster-secrets.ts'
import { type FurtherRules, type Machine, startFurtherCluster } from '../clusters/further-cluster.ts'
import { homeAsCluster } from '../clusters/home-as-cluster.ts'
import { createGatewayResources, recordAddresses } from '../home-resources.ts'
import { KeyEvents } from '../key-events.ts'
import { urlHost } from '../listen.ts'
import { OutsideListeners } from '../outside-listeners.ts'
import { autoscalerRole } from '../roles/autoscaler-role.ts'
import { GatewayRole } from '../roles/gateway-role.ts'
import { ManagementRole } from '../roles/management-role.ts'
import { ServingRole } from '../roles/serving-role.ts'
import { defaultServingThreads } from '../serving/serving-count.ts'
import { usageWriter } from '../usage/usage-writing.ts'
import { consoleWorld } from './console-world.ts'
import { openEdge } from './open-edge.ts'
import { type HomeOptions, type UpParts, openHome } from './open-home.ts'
import { EndpointsFile, type UpFacts, upFacts } from './up-facts.ts'

/** Objects of the home cluster are read from this process, which costs next to nothing. */
const lookAtClustersMs = 5_000

/** Puts all roles together around one home cluster, and starts them in order. */
export async function startPlatform(options: HomeOptions, parts: UpParts): Promise<UpFacts> {
  const { directory, config, lifecycle, clock, log } = parts
  const { host, ports } = options
  const outside = new OutsideListeners(options)
  const opened = await openHome(options, parts, outside)
  const { home, identity, center, centers, metrics } = opened
  const { cluster, caches } = home
  const { client } = cluster
  const common = { client, caches, host, clock, log, metrics }
  const threads = options.gatewayWorkers ?? defaultServingThreads(availableParallelism(), process.platform)
  const usage = usageWriter({ client, room: 'gateway', writer: 'gateway', clock, log, metrics })
  const gateway = options.gateway
    ? new GatewayRole({
        ...common,
        threads,
        wakeDeadlineMs: options.wakeDeadlineMs,
        requireApiKeys: options.requireApiKeys,
        trustedProxies: options.trustedProxies,
        bodyLimitBytes: options.bodyLimitBytes,
        usage,
      })
    : undefined
  const autoscaler =
    gateway &&
    autoscalerRole({
      ...common,
      demand: gateway.pool,
      idleWindowMs: options.idleWindowMs,
      cardPreemption: options.cardPreemption,
      usageRetentionDays: options.usageRetentionDays,
      cardsOf: (model) => home.cardsOf(model),
      foresight: cluster.foresight,
    })
  const edge = await openEdge({ options, opened, listening: () => serving.exposure, clock, log })
  const proxyDomain = () => centers.of(center.code).proxyDomain
  const exposure = edge.exposureOf({
    client,
    caches,
    clusterId: identity.clusterId,
    proxyDomain,
    gateway: () => serving.gateway && { host: urlHost(host), port: serving.gateway.port },
  })
  const machine: Machine & FurtherRules = {
    directory,
    storeThread: opened.storeThread,
    listener: cluster.controlPlane.listener,
    cards: opened.machineCards,
    isolation: opened.isolation,
    podNetwork: options.podNetwork,
    podIpv6: options.podIpv6,
    provenIpv6: opened.network.hostIP6 !== undefined,
    userNetwork: options.userNetwork,
    config,
    centers,
    hosts: opened.machineNames.all,
    exposure: edge.exposureOf,
    rules: [modelsAreAtHome(identity.clusterId)],
    finishedPodLimit: options.finishedPodLimit,
    eventTtlMs: options.eventTtlMs,
    clock,
    log,
  }
  const serving: ServingRole = new ServingRole({
    ...common,
    // Whose clients were cut off: the gateway's, and where there is none those of the whole cluster.
    concerned: () =>
      caches.services.get({ namespace: gatewayNamespace, name: gatewayServiceName }) ??
      caches.clusters.get({ name: identity.clusterId }),
    count: threads,
    gateway: gateway && { port: ports.gateway, served: gateway.served, outside: outside.takeAll('gateway') },
    exposure: {
      port: ports.exposure,
      served: { tls: edge.certificate, routes: edge.joined },
      outside: outside.takeAll('exposure'),
    },
    logPath: directory.path('logs', 'sluice.log'),
    ownerLoop: opened.board.shape,
  })
  const clusters = new ClusterController({
    client,
    clusters: caches.clusters,
    embedded: {
      folders: opened.clusterFolders,
      start: (record, resource) => startFurtherCluster(record, resource, machine),
    },
    secrets: new ClusterSecrets(client),
    events: new EventRecorder({ client, component: 'sluice-clusters', clock, log }),
    home: homeAsCluster(home),
    attach: async (id, kubeconfig) =>
      watchAttachedCluster({ id, client: await connectKubernetesText(kubeconfig), withPods: true, clock, log }),
    lookAgainMs: lookAtClustersMs,
    clock,
    log,
  })
  const management = new ManagementRole({
    ...common,
    homeId: identity.clusterId,
    running: (name) => clusters.running(name),
    port: ports.management,
    outside: outside.take('management'),
    console: consoleWorld({ opened, dataDirectory: directory.root, gateway, clock, log }),
  })
  outside.closeUnused()

  lifecycle.add(serving.early)
  const busy = gateway && ((model: string, pod: string) => gateway.busy(model, pod))
  const components = options.startsPods ? home.components(busy) : cluster.quietComponents()
  for (const component of components) lifecycle.add(component)
  lifecycle.add(new KeyEvents({ client, keys: caches.keys, clock, log }))
  // Stopped after the threads, which tell at their end what they counted.
  lifecycle.add(usage)
  // Components stop in reverse order: waiting clients are turned away before the threads finish running requests.
  lifecycle.add(serving)
  if (gateway) lifecycle.add(gateway)
  if (autoscaler) lifecycle.add(autoscaler)
  lifecycle.add(edge.edgeCertificate)
  lifecycle.add(edge.certificate)
  lifecycle.add(exposure)
  lifecycle.add(management)
  const copy = (from: string, to: string) => opened.storeThread.copy(from, to)
  lifecycle.add(new CopyService({ directory, copy, clock, log }))
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
    },
  })
  if (options.startsPods) lifecycle.add(clusters)
  const file = new EndpointsFile({ options, opened, directory, serving, management, exposure })
  lifecycle.add(file)
  await lifecycle.start()
  return upFacts({ options, opened, parts, endpoints: file.endpoints })
}
