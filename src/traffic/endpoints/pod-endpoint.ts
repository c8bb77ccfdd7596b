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
 * `ready`: the cluster says so. `starting`: not ready, or no longer ready; usable once it answers a probe. `leaving`:
 * it may finish its requests, but gets no new ones.
 */
export type PodStanding = 'ready' | 'starting' | 'leaving'

/** A Pod as a place to send requests to. */
export interface PodEndpoint {
  readonly model: string
  readonly name: string
  /** Differs for another Pod of the same name, and for the same Pod at another address. */
  readonly identity: string
  readonly address: EndpointAddress
  readonly standing: PodStanding
  /** The path that its own readiness probe asks. */
  readonly healthPath: string
  /** The API key that its engine expects, if it expects one. */
  readonly key: string | undefined
  /** How many requests it takes at the same time. */
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

/** An annotation that is not a count is ignored. */
function capacityOf(pod: Pod): number {
  const text = pod.metadata.annotations?.[requestCapacityAnnotation]
  return text !== undefined && /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Infinity
}
