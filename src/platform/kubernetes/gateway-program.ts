import { availableParallelism, hostname } from 'node:os'
import type { Component } from '../../foundation/lifecycle.ts'
import { apiKeyKind } from '../../resources/api-key.ts'
import { gatewayNamespace, gatewayServiceName } from '../../resources/model-labels.ts'
import { modelKind } from '../../resources/model.ts'
import { podKind } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { serviceKind } from '../../resources/service.ts'
import { demandKey } from '../demand/demand-key.ts'
import { DemandListener } from '../demand/demand-listener.ts'
import { GatewayRole } from '../roles/gateway-role.ts'
import { ServingRole } from '../roles/serving-role.ts'
import { defaultServingThreads } from '../serving/serving-count.ts'
import { usageWriter } from '../usage/usage-writing.ts'
import { type RoleOptions, type RunningRole, startRole } from './role-program.ts'

export interface GatewayOptions extends RoleOptions {
  readonly gatewayPort: number
  readonly demandPort: number
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  readonly gatewayWorkers: number | undefined
}

/** `sluice gateway`: the OpenAI face of a cluster's Models. There may be any number. */
export function startGateway(options: GatewayOptions, signal: AbortSignal): Promise<RunningRole> {
  return startRole(
    'gateway',
    options,
    ({ client, informers, clock, log, logPath, metrics, board, early }) => {
      const scope = { namespace: gatewayNamespace }
      const caches = {
        models: informers.add(modelKind, scope),
        pods: informers.add(podKind, scope),
        secrets: informers.add(secretKind, scope),
        services: informers.add(serviceKind, scope),
        keys: informers.add(apiKeyKind),
      }
      const threads = options.gatewayWorkers ?? defaultServingThreads(availableParallelism(), process.platform)
      const usage = usageWriter({ client, room: 'gateway', writer: `gateway-${hostname()}`, clock, log, metrics })
      const gateway = new GatewayRole({ ...options, client, caches, threads, usage, clock, log, metrics })
      const demand = new DemandListener({
        host: options.host,
        port: options.demandPort,
        pool: gateway.pool,
        key: () => demandKey(caches.secrets, gatewayNamespace),
        clock,
        log,
        metrics,
      })
      const serving = new ServingRole({
        client,
        host: options.host,
        count: threads,
        gateway: { port: options.gatewayPort, served: { ...gateway.served, wakeObstacle: demand } },
        exposure: undefined,
        concerned: () => caches.services.get({ namespace: gatewayNamespace, name: gatewayServiceName }),
        stopGraceMs: options.stopGraceMs,
        logPath,
        ownerLoop: board.shape,
        clock,
        log,
        metrics,
      })
      early(serving.early)
      const ports: Component = {
        name: 'ports',
        start: () => log.info({ port: serving.gateway?.port, demandPort: demand.port }, 'the gateway listens'),
      }
      // Stopped in reverse: whoever waits for a Model goes on waiting, and is heard of, while requests may still end.
      // What they used is written when all have ended.
      return [usage, demand, gateway, serving, ports]
    },
    signal,
  )
}
