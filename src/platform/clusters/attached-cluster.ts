import type { KubernetesClient } from '../../cluster/kubernetes-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { Informers } from '../informers.ts'
import type { RunningCluster } from './running-cluster.ts'

export interface AttachedClusterOptions {
  readonly id: string
  readonly client: KubernetesClient
  readonly clock: Clock
  readonly log: Logger
}

const probePeriodMs = 1_000
const probeDeadlineMs = 2_000

/**
 * A cluster that runs elsewhere: its nodes and Pods are watched for what the management API tells of it, and nothing is
 * written there.
 */
export function watchAttachedCluster({ id, client, clock, log }: AttachedClusterOptions): RunningCluster {
  const informers = new Informers({ client, clock, log: log.child({ cluster: id }) })
  const [nodes, pods] = [informers.add(nodeKind), informers.add(podKind)]
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  const stop = new AbortController()
  let silence: string | undefined = 'it has not been asked yet'
  const probe = async () => {
    while (!stop.signal.aborted) {
      const said = await silenceOf(client, stop.signal)
      // Until its nodes and Pods are known, nothing can be told of it.
      const now = said ?? (nodes.synced && pods.synced ? undefined : 'its nodes and Pods are being read')
      if (now !== silence) {
        silence = now
        tell()
      }
      await clock.sleep(nodes.synced && pods.synced ? probePeriodMs : 100, stop.signal).catch(() => {})
    }
  }
  nodes.onChange(tell)
  informers.start(stop.signal).catch(() => {})
  const probing = probe()
  return {
    id,
    controlPlane: client.server,
    nodes,
    pods,
    silence: () => silence,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    update() {},
    async close() {
      stop.abort(new Error('the cluster is not looked at any more'))
      await Promise.all([probing, informers.stop()])
      client.close()
    },
  }
}

async function silenceOf(client: KubernetesClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.serverVersion(AbortSignal.any([signal, AbortSignal.timeout(probeDeadlineMs)]))
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return errorMessage(error) || code || 'no answer'
  }
}
