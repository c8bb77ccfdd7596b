import { hostname } from 'node:os'
import { randomBytes } from 'node:crypto'
import { LeaderLease } from '../../cluster/leader/leader-lease.ts'
import { Lifecycle } from '../../foundation/lifecycle.ts'
import { resolveProfile } from '../../operator/resource-profile.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { parseResourceProfile } from '../../resources/model-references.ts'
import { modelKind } from '../../resources/model.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { backgroundTask } from '../background-task.ts'
import { readConfigFile } from '../data/config-file.ts'
import { demandKey, ensureDemandKey } from '../demand/demand-key.ts'
import { listenWithKey } from '../demand/gateway-stream.ts'
import { GatewayStreams } from '../demand/gateway-streams.ts'
import { JoinedDemand } from '../demand/joined-demand.ts'
import { LiveCenters } from '../live-center.ts'
import { ClusterCards } from '../models/cluster-cards.ts'
import { autoscalerRole } from '../roles/autoscaler-role.ts'
import { controllerLease } from '../roles/model-lease.ts'
import { operatorRole } from '../roles/operator-role.ts'
import { type HomeSettings, createKubernetesHome, homeStatusTask } from './kubernetes-home.ts'
import { type RoleOptions, type RoleParts, type RunningRole, aborted, startRole } from './role-program.ts'

export interface ControllerOptions extends RoleOptions, HomeSettings {
  /** Path of a file with resource profiles. */
  readonly config: string | undefined
  readonly idleWindowMs: number
  readonly cardPreemption: boolean
}

/** `sluice controller`: operator and autoscaler of a cluster's Models. Of several, one leads. */
export async function startController(options: ControllerOptions, signal: AbortSignal): Promise<RunningRole> {
  const { profiles: table } = await readConfigFile(options.config)
  return startRole('controller', options, (parts) => [electedController(options, parts, table)], signal)
}

const failedPauseMs = 2_000

type ProfileTable = Awaited<ReturnType<typeof readConfigFile>>['profiles']

function electedController(options: ControllerOptions, parts: RoleParts, table: ProfileTable) {
  const { client, informers, clock, log, metrics } = parts
  const caches = {
    models: informers.add(modelKind, { namespace: gatewayNamespace }),
    pods: informers.add(podKind),
    nodes: informers.add(nodeKind),
    secrets: informers.add(secretKind, { namespace: gatewayNamespace }),
  }
  const clusters = informers.add(clusterKind)
  const centers = new LiveCenters(informers.add(computeCenterKind))
  const cards = new ClusterCards({ own: [], nodes: caches.nodes, table })
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
  const scaling = {
    ...parts,
    caches,
    demand,
    idleWindowMs: options.idleWindowMs,
    cardPreemption: options.cardPreemption,
    cardKindOf: (model) =>
      resolveProfile(parseResourceProfile(model.spec.resourceProfile).profile, cards.facts())?.card,
  } satisfies Parameters<typeof autoscalerRole>[0]
  const listen = listenWithKey(() => demandKey(caches.secrets, gatewayNamespace))
  const begin = async (lifecycle: Lifecycle, leading: AbortSignal): Promise<void> => {
    await createKubernetesHome(client, options, leading)
    await ensureDemandKey(client, gatewayNamespace, leading)
    lifecycle.add(new GatewayStreams({ namespace: gatewayNamespace, pods: caches.pods, demand, listen, clock, log }))
    lifecycle.add(
      operatorRole({
        client,
        caches,
        cards,
        // Whether a claim of another machine has a file is seen when the engine starts.
        files: { check: () => ({ state: 'unknown' }) },
        registry: () => centers.find(options.center.code)?.registry ?? options.center.registry,
        busy: (model, pod) => demand.busy(model, pod),
        clock,
        log,
      }),
    )
    lifecycle.add(autoscalerRole(scaling))
    lifecycle.add(homeStatusTask({ client, clusters, nodes: caches.nodes, controlPlane: client.server, clock, log }))
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
    }
  }
  return backgroundTask('controller', (stop) => lease.run(lead, stop))
}
