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
  /** Returns whether it was written; the Pod may be gone, or not exist yet. */
  write(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<boolean>
}

/** Writes a Pod's status to the cluster, and remembers the last one so that only changes are written. */
export class PodStatusReport {
  readonly #options: PodStatusReportOptions
  #status: PodStatus | undefined

  constructor(options: PodStatusReportOptions, status: PodStatus | undefined) {
    this.#options = options
    this.#status = status
  }

  /** When the node began with the Pod; `undefined` before that was written. */
  get startedAt(): number | undefined {
    const time = Date.parse(this.#status?.startTime ?? '')
    return Number.isNaN(time) ? undefined : time
  }

  /** Returns whether the cluster knows this status now. */
  async write(
    pod: Pod,
    outcome: PodOutcome,
    memories: readonly ContainerMemory[],
    place: Pick<PodPlace, 'address' | 'address6'> | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, hostIP, hostIP6 } = this.#options
    const before = this.#status ?? { startTime: timestamp(clock.now()) }
    // Conditions of others come from the cluster's copy, this node's own from what it wrote last.
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
