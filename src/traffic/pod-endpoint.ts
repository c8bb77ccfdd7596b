import { drainingAnnotation, enginePortName, modelLabel } from '../resources/model-labels.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../resources/pod.ts'
import type { EndpointAddress } from './endpoint-pool.ts'

/** What a Pod is to traffic. `accepting` is false for one that may still finish what it has, but gets nothing new. */
export interface PodEndpoint {
  readonly model: string
  readonly name: string
  /** Another Pod of the same name, or the same one at another address, is another endpoint. */
  readonly identity: string
  readonly address: EndpointAddress
  readonly accepting: boolean
}

/** `undefined` for a Pod that serves no model or has no address yet. */
export function endpointOf(pod: Pod): PodEndpoint | undefined {
  const model = pod.metadata.labels?.[modelLabel]
  const host = pod.status?.podIP
  const port = enginePortOf(pod)
  if (!model || !host || port === undefined) return undefined
  return {
    model,
    name: pod.metadata.name,
    identity: `${pod.metadata.uid ?? ''} ${host}:${port}`,
    address: { host, port },
    accepting: isPodReady(pod) && !isPodTerminating(pod) && !isPodFinished(pod) && !isDraining(pod),
  }
}

function isDraining(pod: Pod): boolean {
  return pod.metadata.annotations?.[drainingAnnotation] !== undefined
}

function enginePortOf(pod: Pod): number | undefined {
  for (const container of pod.spec.containers) {
    const port = container.ports?.find(({ name }) => name === enginePortName)
    if (port) return port.containerPort
  }
  return undefined
}
