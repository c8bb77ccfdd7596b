import type { KubernetesClient } from '../../../cluster/kubernetes-client.ts'
import type { Clock } from '../../../foundation/clock.ts'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import { nodeKind } from '../../../resources/node.ts'
import { HeldObjects } from '../../../resources/object-cache.ts'
import { type Pod, podKind } from '../../../resources/pod.ts'
import { Informers } from '../../informers.ts'
import type { RunningCluster } from '../running-cluster.ts'

export interface AttachedClusterOptions {
  readonly id: string
  readonly client: KubernetesClient
  /** Whether its Pods are watched, too. Only the management API counts them. */
  readonly withPods: boolean
  readonly clock: Clock
  readonly log: Logger
}

const probePeriodMs = 1_000
const probeDeadlineMs = 2_000
/** Probes more often while nodes and Pods are read for the first time, which takes longer than a probe. */
const earlyProbeMs = 100
const mostEarlyProbes = 50

/**
 * A cluster that runs elsewhere. Watches its nodes and Pods, and writes nothing there. Resolves when its state is
 * known.
 */
export async function watchAttachedCluster(options: AttachedClusterOptions): Promise<RunningCluster> {
  const { id, client, withPods, clock, log } = options
  const informers = new Informers({ client, clock, log: log.child({ cluster: id }) })
  const nodes = informers.add(nodeKind)
  const pods = withPods ? informers.add(podKind) : new HeldObjects<Pod>()
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  const stop = new AbortController()
  const known = Promise.withResolvers<void>()
  let silence: string | undefined
  const isRead = () => nodes.synced && (pods.synced || !withPods)
  const probe = async () => {
    for (let asked = 0; !stop.signal.aborted; asked += 1) {
      const said = await silenceOf(client, stop.signal)
      // Until nodes and Pods have been read, nothing is known about the cluster.
      const now = said ?? (isRead() ? undefined : `its nodes${withPods ? ' and Pods' : ''} cannot be read`)
      if (said !== undefined || isRead() || asked >= mostEarlyProbes) known.resolve()
      if (now !== silence) {
        silence = now
        tell()
      }
      const isEarly = !isRead() && asked < mostEarlyProbes
      await clock.sleep(isEarly ? earlyProbeMs : probePeriodMs, stop.signal).catch(() => {})
    }
    known.resolve()
  }
  nodes.onChange(tell)
  informers.start(stop.signal).catch(() => {})
  const probing = probe()
  await known.promise
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
