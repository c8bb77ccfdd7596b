import type { Container, Pod } from '../../resources/pod.ts'
import type { PodPlace } from '../network/pod-network.ts'
import type { RunningContainer } from '../pod-runtime.ts'
import type { PodWorkerServices } from '../pods/pod-worker-services.ts'
import { namesInEnvironment } from '../environment/referenced-objects.ts'

export interface ContainerStart {
  readonly container: Container
  /** 0 for the first start of the container, one more for each restart. */
  readonly attempt: number
  readonly place: PodPlace
  readonly cards: readonly number[]
  /** The container whose PID namespace it joins. */
  readonly target?: string | undefined
}

/**
 * Starts a container with everything it depends on (address, cards, referenced objects, names), and records the
 * kubelet's usual events.
 */
export async function startContainer(
  services: PodWorkerServices,
  pod: Pod,
  { container, attempt, place, cards, target }: ContainerStart,
  signal: AbortSignal,
): Promise<RunningContainer> {
  const { runtime, allocatable, simulatedCards: cardsSimulated } = services
  const { address: podIP, address6: podIP6, namespace: network } = place
  const references = await services.references(pod, namesInEnvironment(container), signal)
  const serviceVariables = services.serviceVariables?.(pod) ?? {}
  // A Pod in the machine's network uses the machine's names.
  const names = network === '' ? undefined : services.names?.(pod, podIP6 === undefined ? [podIP] : [podIP, podIP6])
  if (attempt === 0) {
    for (const warning of names?.warnings ?? []) services.event(pod, 'Warning', 'DNSConfigForming', warning)
  }
  const ofCards = { cards, cardFacts: services.cards.describe(cards), cardsSimulated }
  const about = { attempt, podIP, podIP6, network, names, ...ofCards, references, serviceVariables, allocatable }
  const among = target === undefined || target === '' ? {} : { target }
  const running = await runtime.start({ pod, container, ...about, ...among }, signal)
  if (running.warning !== undefined) services.event(pod, 'Warning', 'Degraded', running.warning)
  const tell = (reason: string, message: string) => services.event(pod, 'Normal', reason, message)
  tell('Pulled', `Container image "${container.image}" already present on machine`)
  tell('Created', `Created container: ${container.name}`)
  const withCards = cards.length > 0 ? ` with ${cardsSimulated ? 'simulated ' : ''}cards ${cards.join(', ')}` : ''
  tell('Started', `Started container ${container.name} as process ${running.pid} on ${podIP}${withCards}`)
  return running
}
