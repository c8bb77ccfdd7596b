import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { GatewayAnswer, GatewayInCluster } from '../../platform/models/running/gateway-in-cluster.ts'

/** How a gateway is reached. With a body, it is posted as JSON. */
export interface GatewayDoor {
  ask(path: string, body: object | undefined, signal: AbortSignal): Promise<GatewayAnswer>
}

/** A gateway at its address. */
export function doorAt(gateway: string, apiKey: string | undefined): GatewayDoor {
  return {
    async ask(path, body, signal) {
      const key = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
      const headers = { ...key, ...(body ? { 'content-type': 'application/json' } : {}) }
      const content = body ? { method: 'POST', body: JSON.stringify(body) } : {}
      try {
        const response = await fetch(gateway + path, { ...content, headers, signal })
        return { status: response.status, bytes: response.body ?? nothing() }
      } catch (error) {
        const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
        if (signal.aborted && !isTimeout) throw error
        const reason = isTimeout
          ? 'no answer in time'
          : errorMessage(error instanceof Error ? (error.cause ?? error) : error)
        throw new SluiceError('gateway_unreachable', { gateway, reason }, { cause: error })
      }
    },
  }
}

/** The gateway of a cluster, wherever that is. */
export function doorThrough(cluster: GatewayInCluster, apiKey: string | undefined): GatewayDoor {
  return { ask: (path, body, signal) => cluster.ask(path, body, apiKey, signal) }
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // An answer without a body has no bytes.
}
