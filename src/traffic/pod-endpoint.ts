import { drainingAnnotation, enginePortName, modelLabel, requestCapacityAnnotation } from '../resources/model-labels.ts'
import { type Container, type Pod, isPodFinished, isPodReady, isPodTerminating } from '../resources/pod.ts'
import type { EndpointAddress } from './endpoint-pool.ts'

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
  /** How many requests it takes at a time. */
  readonly capacity: number
}

/** `undefined` for a Pod that serves no model or has no address yet. */
export function endpointOf(pod: Pod): PodEndpoint | undefined {
  const model = pod.metadata.labels?.[modelLabel]
  const host = pod.status?.podIP
  const engine = engineOf(pod)
  if (!model || !host || engine === undefined) return undefined
  const { port, container } = engine
  return {
    model,
    name: pod.metadata.name,
    identity: `${pod.metadata.uid ?? ''} ${host}:${port}`,
    address: { host, port },
    standing: standingOf(pod),
    healthPath: container.readinessProbe?.httpGet?.path ?? '/health',
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
