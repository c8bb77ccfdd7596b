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

/** What a Pod's worker needs from the node. */
export interface PodWorkerServices {
  readonly runtime: PodRuntime
  readonly clock: Clock
  readonly log: Logger
  readonly network: PodNetwork
  readonly cards: CardLedger
  readonly hostPorts: HostPortLedger
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  /** Whether the cards are only simulated; events say so. */
  readonly simulatedCards: boolean
  readonly hostPathAllowed: boolean
  readonly tokens: Tokens | undefined
  /** The host name and resolver files of a Pod with its own network. */
  readonly names?: ((pod: Pod, podIPs: readonly string[]) => PodNames) | undefined
  readonly serviceVariables?: ((pod: Pod) => Readonly<Record<string, string>>) | undefined
  /** What the node can give, as the limit of containers that set none. */
  readonly allocatable: { readonly cpus: number; readonly memoryBytes: number }
  /** Reads these objects in the Pod's namespace. */
  references(pod: Pod, names: ReferencedNames, signal: AbortSignal): Promise<ReferencedObjects>
  runtimeClass(name: string, signal: AbortSignal): Promise<RuntimeClass | undefined>
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void
  /** Returns whether it was written; the Pod may be gone, or not exist yet. */
  writeStatus(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<boolean>
  /** Deletes the Pod's object, once its processes are gone. */
  remove(pod: Pod, signal: AbortSignal): Promise<void>
  /** Tells that the Pod has released its address and cards, for which others may wait. */
  roomFreed(): void
  /** Asks for another step soon. */
  wake(): void
}
