import type { Clock } from '../../foundation/clock.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import type { ContainerMemory } from '../containers/container-memory.ts'
import type { PodPlace } from '../network/pod-network.ts'
import { type PodOutcome, type PodStatus, podStatus, withForeignConditions } from './pod-status.ts'

export interface PodStatusReportOptions {
  readonly clock: Clock
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  /** Answers whether it was written: a Pod may be gone, or not be there yet. */
  write(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<boolean>
}

/** What the node last said of a Pod in the cluster; written only when there is something new to say. */
export class PodStatusReport {
  readonly #options: PodStatusReportOptions
  #status: PodStatus | undefined

  constructor(options: PodStatusReportOptions, status: PodStatus | undefined) {
    this.#options = options
    this.#status = status
  }

  /** When the node first had to do with the Pod; `undefined` before it has said so. */
  get startedAt(): number | undefined {
    const time = Date.parse(this.#status?.startTime ?? '')
    return Number.isNaN(time) ? undefined : time
  }

  /** Answers whether the cluster knows it now. */
  async write(
    pod: Pod,
    outcome: PodOutcome,
    memories: readonly ContainerMemory[],
    place: Pick<PodPlace, 'address' | 'address6'> | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, hostIP, hostIP6 } = this.#options
    const before = this.#status ?? { startTime: timestamp(clock.now()) }
    // What others say of the Pod is in the cluster's copy, what this node said last is in its own.
    const conditions = withForeignConditions(before.conditions ?? [], pod.status?.conditions ?? [])
    const known = { ...pod, status: { ...before, conditions } }
    const addressing = { podIP: place?.address, podIP6: place?.address6, hostIP, hostIP6 }
    const status = podStatus(known, outcome, memories, addressing, clock.now())
    if (JSON.stringify(status) === JSON.stringify(this.#status)) return true
    if (!(await this.#options.write(pod, status, signal))) return false
    this.#status = status
    return true
  }
}
