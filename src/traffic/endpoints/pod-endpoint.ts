import { engineKeyId, engineKeyIn } from '../../resources/engine-keys.ts'
import {
  drainingAnnotation,
  enginePortName,
  modelLabel,
  requestCapacityAnnotation,
} from '../../resources/model-labels.ts'
import { type Container, type Pod, isPodFinished, isPodReady, isPodTerminating } from '../../resources/pod.ts'
import type { Secret } from '../../resources/secret.ts'
import type { EndpointAddress } from '../endpoint-pool.ts'

/**
 * `ready`: the cluster says so. `starting`: not ready, or not ready any more; it may be used once it answers a probe.
 * `leaving`: it may finish what it has, but gets nothing new.
 */
export type PodStanding = 'ready' | 'starting' | 'leaving'

/** What a Pod is to traffic. */
export interface PodEndpoint {
  readonly model: string
  readonly name: string
  /** Another Pod of the same name, or the same one at another address, is another endpoint. */
  readonly identity: string
  readonly address: EndpointAddress
  readonly standing: PodStanding
  /** Where it says whether it is healthy: what its own readiness probe asks. */
  readonly healthPath: string
  /** What its engine asks for; undefined where it asks for nothing. */
  readonly key: string | undefined
  /** How many requests it takes at a time. */
  readonly capacity: number
}

/** `undefined` for a Pod that serves no model, has no address yet, or asks for a key that is not known yet. */
export function endpointOf(pod: Pod, keys?: Secret): PodEndpoint | undefined {
  const model = pod.metadata.labels?.[modelLabel]
  const host = pod.status?.podIP
  const engine = engineOf(pod)
  if (!model || !host || engine === undefined) return undefined
  const { port, container } = engine
  const keyId = engineKeyId(pod)
  const key = keyId === undefined ? undefined : engineKeyIn(keys, keyId)
  if (keyId !== undefined && key === undefined) return undefined
  return {
    model,
    name: pod.metadata.name,
    identity: `${pod.metadata.uid ?? ''} ${host}:${port}`,
    address: { host, port },
    standing: standingOf(pod),
    healthPath: container.readinessProbe?.httpGet?.path ?? '/health',
    key,
    capacity: capacityOf(pod),
  }
}

function standingOf(pod: Pod): PodStanding {
  const draining = pod.metadata.annotations?.[drainingAnnotation] !== undefined
  if (draining || isPodTerminating(pod) || isPodFinished(pod)) return 'leaving'
  return isPodReady(pod) ? 'ready' : 'starting'
}

function engineOf(pod: Pod): { readonly port: number; readonly container: Container } | undefined {
  for (const container of pod.spec.containers) {
    const port = container.ports?.find(({ name }) => name === enginePortName)
    if (port) return { port: port.containerPort, container }
  }
  return undefined
}

/** What is not a count is as good as absent. */
function capacityOf(pod: Pod): number {
  const text = pod.metadata.annotations?.[requestCapacityAnnotation]
  return text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Infinity
}
