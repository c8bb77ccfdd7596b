import { isIP } from 'node:net'
import { CatchUp } from '../../cluster/catch-up.ts'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { defaultGatewaySettings } from '../../gateway/gateway-settings.ts'
import { TrustedProxies } from '../../gateway/access/trusted-proxies.ts'
import { modelKind } from '../../resources/model.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { LoadTable } from '../../traffic/endpoints/load-table.ts'
import { PodPool } from '../../traffic/pod-pool.ts'
import { chatPageDirectory } from '../built-pages.ts'
import type { HomeCaches } from '../cluster-caches.ts'
import type { ServedGateway } from '../serving/serving-messages.ts'
import type { GatewayToServe } from '../serving/serving-threads.ts'

export interface GatewayRoleOptions {
  readonly client: ClusterClient
  readonly caches: Pick<HomeCaches, 'models' | 'pods' | 'secrets' | 'keys'>
  readonly host: string
  readonly wakeDeadlineMs: number
  readonly requireApiKeys: boolean
  /** Addresses and ranges, separated by commas. This machine's own address is always added, since the edge is there. */
  readonly trustedProxies: string
  readonly bodyLimitBytes: number
  /** How many serving threads there are. */
  readonly threads: number
  /** Gets what models answered to whom. */
  readonly usage?: GatewayToServe['usage']
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** The gateway's part in the main thread: the pool, which knows the endpoints and holds the waiting requests. */
export class GatewayRole implements Component {
  readonly name = 'gateway'
  /** What the serving threads need from here. */
  readonly served: GatewayToServe
  /** Reports the gateway's demand. */
  readonly pool: PodPool

  constructor(options: GatewayRoleOptions) {
    const { client, caches, clock, log, metrics, wakeDeadlineMs } = options
    const { models, pods, secrets, keys } = caches
    const loads = LoadTable.shared({ workers: options.threads, epochMs: clock.now() })
    this.pool = new PodPool({
      namespace: gatewayNamespace,
      pods,
      models,
      secrets,
      clock,
      log,
      metrics,
      loads,
      settings: { wakeDeadlineMs },
    })
    const scope = { namespace: gatewayNamespace }
    const newest = new CatchUp({ client, kind: modelKind, scope, cache: models, clock, log })
    this.served = {
      settings: servedSettings(options),
      loads,
      pool: this.pool,
      models,
      keys,
      usage: options.usage,
      catchUp: () => newest.now(),
    }
  }

  /** Turns waiting clients away; the threads go on with requests that are being answered. */
  stop(): void {
    this.pool.stop()
  }

  /** How many requests the Pod is answering. */
  busy(model: string, podName: string): number {
    return this.pool.inFlightByEndpoint(model).get(podName) ?? 0
  }
}

function servedSettings(options: GatewayRoleOptions): ServedGateway {
  const { wakeDeadlineMs, requireApiKeys, bodyLimitBytes, host, threads } = options
  const own = isIP(host) === 0 ? '' : host
  const trustedProxies = `${options.trustedProxies},${own}`
  // Settings that cannot be parsed are refused here, before any thread starts with them.
  TrustedProxies.parse(trustedProxies, '--trusted-proxies')
  return {
    namespace: gatewayNamespace,
    wakeDeadlineMs,
    requireApiKeys,
    trustedProxies,
    bodyLimitBytes,
    heldLimitBytes: Math.max(bodyLimitBytes, Math.floor(defaultGatewaySettings.maxHeldBytes / threads)),
    chatPageDirectory,
  }
}
