import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Pod } from '../../resources/pod.ts'
import type { RuntimeClass } from '../../resources/runtime-class.ts'
import type { CardLedger } from '../cards/card-ledger.ts'
import type { HostPortLedger } from '../network/host-port-ledger.ts'
import type { PodNames } from '../network/pod-names.ts'
import type { PodNetwork } from '../network/pod-network.ts'
import type { PodRuntime } from '../pod-runtime.ts'
import type { PodStatus } from './pod-status.ts'
import type { Tokens } from '../volumes/pod-volumes.ts'
import type { ReferencedNames, ReferencedObjects } from '../environment/referenced-objects.ts'

/** What a worker needs of the node around it. */
export interface PodWorkerServices {
  readonly runtime: PodRuntime
  readonly clock: Clock
  readonly log: Logger
  readonly network: PodNetwork
  readonly cards: CardLedger
  readonly hostPorts: HostPortLedger
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  /** Said in events where cards are handed out that are only declared. */
  readonly simulatedCards: boolean
  readonly hostPathAllowed: boolean
  readonly tokens: Tokens | undefined
  /** By which names a Pod with a network of its own knows itself and finds others. */
  readonly names?: ((pod: Pod, podIPs: readonly string[]) => PodNames) | undefined
  readonly serviceVariables?: ((pod: Pod) => Readonly<Record<string, string>>) | undefined
  /** What a container without limits may use. */
  readonly allocatable: { readonly cpus: number; readonly memoryBytes: number }
  /** The objects of these names in the Pod's namespace, as they are now. */
  references(pod: Pod, names: ReferencedNames, signal: AbortSignal): Promise<ReferencedObjects>
  runtimeClass(name: string, signal: AbortSignal): Promise<RuntimeClass | undefined>
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void
  /** Answers whether it was written: a Pod may be gone, or not be there yet. */
  writeStatus(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<boolean>
  /** The Pod's processes are gone, so may it be. */
  remove(pod: Pod, signal: AbortSignal): Promise<void>
  /** The Pod has let go of its address and cards: others may wait for them. */
  roomFreed(): void
  /** Something happened: step again soon. */
  wake(): void
}
