import type { KubernetesClient } from '../../cluster/kubernetes-client.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { ConsoleWorld } from '../../management/console/console-world.ts'
import { apiKeyKind } from '../../resources/api-key.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { modelKind } from '../../resources/model.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { serviceExporterKind } from '../../resources/service-exporter.ts'
import { usageRecordKind } from '../../resources/usage-record.ts'
import { newInferenceKey } from '../inference-keys.ts'
import { AttachedViews } from '../clusters/attached/attached-views.ts'
import { ClusterSecrets } from '../clusters/cluster-secrets.ts'
import { ManagementRole } from '../roles/management-role.ts'
import { attachTo, homeClusterIn, lookAtKubeconfigsMs } from './kubernetes-home.ts'
import { type RoleOptions, type RoleParts, type RunningRole, startRole } from './role-program.ts'

export interface ManagementOptions extends RoleOptions {
  readonly managementPort: number
  /** Whether the console changes things; the account must be allowed to. */
  readonly consoleActions: boolean
}

/** `sluice management`: the management API of a cluster. There may be several. */
export function startManagement(options: ManagementOptions, signal: AbortSignal): Promise<RunningRole> {
  return startRole('management', options, (parts) => [management(options, parts)], signal)
}

function management(options: ManagementOptions, { client, informers, clock, log, metrics }: RoleParts): Component {
  const caches = {
    keys: informers.add(apiKeyKind),
    centers: informers.add(computeCenterKind),
    clusters: informers.add(clusterKind),
    usage: informers.add(usageRecordKind, { namespace: gatewayNamespace }),
  }
  const [nodes, pods] = [informers.add(nodeKind), informers.add(podKind)]
  const models = informers.add(modelKind, { namespace: gatewayNamespace })
  const exporters = informers.add(serviceExporterKind)
  const views = new AttachedViews({
    clusters: caches.clusters,
    secrets: new ClusterSecrets(client),
    attach: attachTo({ withPods: true, clock, log }),
    lookAgainMs: lookAtKubeconfigsMs,
    clock,
    log,
  })
  let role: ManagementRole | undefined
  return {
    name: 'management',
    async start(signal) {
      const homeId = (await homeClusterIn(caches.clusters, signal)).metadata.name
      role = new ManagementRole({
        caches,
        homeId,
        running: (name) => (name === homeId ? { nodes, pods, silence: () => undefined } : views.running(name)),
        host: options.host,
        port: options.managementPort,
        console: {
          caches: { ...caches, nodes, pods, models, exporters },
          ...consoleWrites(client, options.consoleActions),
          logs: (pod, { container, tailLines, follow }, stop) =>
            client.log(refOf(pod), { container, tail: tailLines, follow, previous: false }, stop),
        },
        clock,
        log,
        metrics,
      })
      views.start()
      await role.start()
      log.info({ url: role.url, cluster: homeId, server: client.server }, 'the management API listens')
    },
    async stop(signal) {
      await role?.stop(signal)
      await views.stop()
    },
  }
}

/** How the console changes things, or why it does not. */
function consoleWrites(
  client: KubernetesClient,
  mayAct: boolean,
): Pick<ConsoleWorld, 'client' | 'rehearsal' | 'makeBearerKey' | 'readOnly'> {
  const readOnly = 'its account in this Kubernetes may only read; use kubectl, or turn actions of the console on'
  if (!mayAct) return { client, readOnly }
  const { create, update } = client.strictly({ dryRun: false })
  return {
    client: {
      get: (...question) => client.get(...question),
      list: (...question) => client.list(...question),
      delete: (...order) => client.delete(...order),
      scale: (...order) => client.scale(...order),
      create,
      update,
    },
    rehearsal: client.strictly({ dryRun: true }),
    makeBearerKey: newInferenceKey,
  }
}
