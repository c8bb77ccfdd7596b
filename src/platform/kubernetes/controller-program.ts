import { hostname } from 'node:os'
import { randomBytes } from 'node:crypto'
import { LeaderClient } from '../../cluster/leader/leader-client.ts'
import { LeaderLease } from '../../cluster/leader/leader-lease.ts'
import { Lifecycle } from '../../foundation/lifecycle.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { modelKind } from '../../resources/model.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { aborted } from '../aborted.ts'
import { backgroundTask } from '../background-task.ts'
import { type ConfigFile, readConfigFile } from '../data/config-file.ts'
import { demandKey, ensureDemandKey } from '../demand/demand-key.ts'
import { listenWithKey } from '../demand/gateway-stream.ts'
import { GatewayStreams } from '../demand/gateway-streams.ts'
import { JoinedDemand } from '../demand/joined-demand.ts'
import { LiveCenters } from '../live-center.ts'
import { cardsOfReplica } from '../models/cards-of-replica.ts'
import { ClusterCards } from '../models/cluster-cards.ts'
import type { AutoscalerRoleOptions } from '../roles/autoscaler-role.ts'
import { ledModels } from '../roles/led-models.ts'
import { controllerLease } from '../roles/model-lease.ts'
import type { OperatorRoleOptions } from '../roles/operator-role.ts'
import { type HomeSettings, createKubernetesHome, kubernetesClusters } from './kubernetes-home.ts'
import { LeadingMetrics } from './leading-metrics.ts'
import { type RoleOptions, type RoleParts, type RunningRole, startRole } from './role-program.ts'

export interface ControllerOptions extends RoleOptions, HomeSettings {
  /** Path of a file with engines and resource profiles. */
  readonly config: string | undefined
  readonly idleWindowMs: number
  readonly cardPreemption: boolean
  /** How long records of usage are kept. */
  readonly usageRetentionDays: number
}

/** `sluice controller`: operator and autoscaler of a cluster's Models. Of several, one leads. */
export async function startController(options: ControllerOptions, signal: AbortSignal): Promise<RunningRole> {
  const config = await readConfigFile(options.config)
  return startRole('controller', options, (parts) => [electedController(options, parts, config)], signal)
}

const failedPauseMs = 2_000

function electedController(options: ControllerOptions, parts: RoleParts, { engines, profiles: table }: ConfigFile) {
  const { client, informers, clock, log, metrics } = parts
  const caches = {
    models: informers.add(modelKind, { namespace: gatewayNamespace }),
    pods: informers.add(podKind),
    nodes: informers.add(nodeKind),
    secrets: informers.add(secretKind, { namespace: gatewayNamespace }),
  }
  const clusters = informers.add(clusterKind)
  const centers = new LiveCenters(informers.add(computeCenterKind))
  const cards = new ClusterCards({ own: new Map(), nodes: caches.nodes, table })
  const demand = new JoinedDemand(() => clock.now())
  let isLeading = false
  metrics.gauge('sluice_controller_leading', '1 while this controller leads, 0 while another one does.', [], (gauge) =>
    gauge.set(isLeading ? 1 : 0),
  )
  metrics.gauge(
    'sluice_controller_gateways',
    'Gateways of the cluster, by whether their demand is known. While one is not, nothing is scaled down.',
    ['known'],
    (gauge) => {
      gauge.set({ known: 'true' }, demand.gateways - demand.unknownGateways)
      gauge.set({ known: 'false' }, demand.unknownGateways)
    },
  )
  const lease = new LeaderLease({
    client,
    ...controllerLease,
    identity: `${hostname()}_${randomBytes(6).toString('hex')}`,
    clock,
    log,
  })
  const leader = new LeaderClient(client, lease)
  const autoscaler = {
    ...parts,
    client: leader,
    caches,
    demand,
    idleWindowMs: options.idleWindowMs,
    cardPreemption: options.cardPreemption,
    usageRetentionDays: options.usageRetentionDays,
    cardsOf: (model) => cardsOfReplica(model, cards.facts(), engines),
  } satisfies AutoscalerRoleOptions
  const leadingMetrics = new LeadingMetrics(metrics)
  const listen = listenWithKey(() => demandKey(caches.secrets, gatewayNamespace))
  const begin = async (lifecycle: Lifecycle, leading: AbortSignal): Promise<void> => {
    const home = await createKubernetesHome(leader, options, leading)
    await ensureDemandKey(leader, gatewayNamespace, leading)
    lifecycle.add(new GatewayStreams({ namespace: gatewayNamespace, pods: caches.pods, demand, listen, clock, log }))
    const operator = {
      client: leader,
      caches,
      cards,
      // Whether a claim of another machine has a file is seen when the engine starts.
      files: { check: () => ({ state: 'unknown' }) },
      engines,
      readLogTail: (pod, container, stop) => client.logTail(refOf(pod), container, stop),
      registry: () => centers.find(options.center.code)?.registry ?? options.center.registry,
      busy: (model, pod) => demand.busy(model, pod),
      clock,
      log,
    } satisfies OperatorRoleOptions
    const scaling = { ...autoscaler, metrics: leadingMetrics.begin() }
    for (const component of ledModels({ operator, autoscaler: scaling })) lifecycle.add(component)
    const attached = kubernetesClusters({
      ...caches,
      home,
      client: leader,
      clusters,
      controlPlane: client.server,
      clock,
      log,
    })
    if (attached) lifecycle.add(attached)
    await lifecycle.start()
  }
  const lead = async (leading: AbortSignal): Promise<void> => {
    const lifecycle = new Lifecycle({ log, clock })
    isLeading = true
    try {
      await begin(lifecycle, leading)
      await aborted(leading)
    } catch (error) {
      if (leading.aborted) return
      // Another one may lead meanwhile, and do better.
      log.error({ err: error }, 'the controller could not begin to lead')
      await clock.sleep(failedPauseMs, leading).catch(() => {})
    } finally {
      isLeading = false
      await lifecycle.stop()
      leadingMetrics.end()
    }
  }
  return backgroundTask('controller', (stop) => lease.run(lead, stop))
}
