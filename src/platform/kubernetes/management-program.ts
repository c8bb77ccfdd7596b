import type { Component } from '../../foundation/lifecycle.ts'
import { apiKeyKind } from '../../resources/api-key.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { computeCenterKind } from '../../resources/compute-center.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { ManagementRole } from '../roles/management-role.ts'
import { homeClusterIn } from './kubernetes-home.ts'
import { type RoleOptions, type RoleParts, type RunningRole, startRole } from './role-program.ts'

export interface ManagementOptions extends RoleOptions {
  readonly managementPort: number
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
  }
  const [nodes, pods] = [informers.add(nodeKind), informers.add(podKind)]
  let role: ManagementRole | undefined
  return {
    name: 'management',
    async start(signal) {
      const homeId = (await homeClusterIn(caches.clusters, signal)).metadata.name
      role = new ManagementRole({
        caches,
        homeId,
        // Of others there is only what the controller wrote into their status.
        running: (name) => (name === homeId ? { nodes, pods, silence: () => undefined } : undefined),
        host: options.host,
        port: options.managementPort,
        clock,
        log,
        metrics,
      })
      await role.start()
      log.info({ url: role.url, cluster: homeId, server: client.server }, 'the management API listens')
    },
    stop: (signal) => role?.stop(signal),
  }
}
