import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Pod } from '../../resources/pod.ts'
import type { RuntimeClass } from '../../resources/runtime-class.ts'
import type { CardLedger, PodCards } from '../cards/card-ledger.ts'
import type { PodFacts } from '../environment/downward-fields.ts'
import type { PodNetwork, PodPlace } from '../network/pod-network.ts'
import { PodVolumes } from '../volumes/pod-volumes.ts'
import type { PodWorkerServices } from './pod-worker-services.ts'
import { namesInVolumes } from '../environment/referenced-objects.ts'
import { missingHandler } from './runtime-handler.ts'
import { volumeGroup } from '../security/security-plan.ts'
import { type SetupBackoff, afterFailure, neverFailed, sooner } from './setup-backoff.ts'

export interface PodSetupOptions {
  readonly clock: Clock
  readonly network: PodNetwork
  readonly cards: CardLedger
  readonly volumes: PodVolumes
  runtimeClass(name: string, signal: AbortSignal): Promise<RuntimeClass | undefined>
  /** Facts about the Pod, without its address. */
  readonly facts: Omit<PodFacts, 'podIP' | 'podIP6'>
  event(reason: string, message: string): void
}

export type Setup =
  | { readonly ready: true; readonly place: PodPlace; readonly cards: PodCards }
  | { readonly ready: false; readonly problem: string }

/** The least time between two updates of a running Pod's volumes. */
const leastPauseMs = 1000

type Step = 'room' | 'volumes'

interface Failure extends SetupBackoff {
  readonly problem: string
}

/**
 * Prepares what a Pod needs before its containers: an address, cards and filled volumes. What fails is retried with a
 * growing back-off, however often it is asked for, and each failed try is reported once.
 */
export class PodSetup {
  readonly #options: PodSetupOptions
  readonly #failed = new Map<Step, Failure>()
  #filledAt = -Infinity

  constructor(options: PodSetupOptions) {
    this.#options = options
  }

  /** When the next step is due, if nothing happens before. */
  get dueAt(): number | undefined {
    const { volumes } = this.#options
    const room = this.#failed.get('room')
    if (room) return room.retryAt
    // If renewing a token failed, its due time is long past; the back-off counts.
    const failed = this.#failed.get('volumes')
    if (failed) return failed.retryAt
    return volumes.isStale ? this.#filledAt + leastPauseMs : volumes.renewAt
  }

  /** Whether it waits for an address or cards that other Pods have. */
  get waitsForRoom(): boolean {
    return this.#failed.has('room')
  }

  /** Tells that other Pods have released an address or cards. */
  roomFreed(): void {
    this.#trySooner('room')
  }

  /** Tells that something in the volumes has changed. */
  volumesChanged(): void {
    this.#options.volumes.invalidate()
    this.#trySooner('volumes')
  }

  /** `runs`: whether a container already runs. Then failing to refill the volumes is no reason to stop. */
  async ensure(pod: Pod, runs: boolean, signal: AbortSignal): Promise<Setup> {
    const room = await this.#try('room', () => this.#takeRoom(pod, signal))
    if (typeof room === 'string') return { ready: false, problem: room }
    // However often it changes, it is written at most once a second.
    if (runs && this.#options.clock.now() < this.#filledAt + leastPauseMs) return { ready: true, ...room }
    const filled = await this.#try('volumes', () => this.#fill(pod, room.place, signal))
    if (typeof filled === 'string' && !runs) return { ready: false, problem: filled }
    return { ready: true, ...room }
  }

  async #fill(pod: Pod, { address: podIP, address6: podIP6 }: PodPlace, signal: AbortSignal): Promise<object | string> {
    const { volumes, facts, clock } = this.#options
    try {
      const changed = await volumes.refresh(pod, { ...facts, podIP, podIP6 }, signal)
      if (changed.length > 0) this.#filledAt = clock.now()
      return {}
    } catch (error) {
      if (signal.aborted) throw error
      return errorMessage(error)
    }
  }

  async #takeRoom(
    pod: Pod,
    signal: AbortSignal,
  ): Promise<{ readonly place: PodPlace; readonly cards: PodCards } | string> {
    const { network, cards } = this.#options
    const problem = await missingHandler(pod, (name) => this.#options.runtimeClass(name, signal))
    if (problem !== undefined) return problem
    const ports = pod.spec.containers.flatMap((container) =>
      (container.ports ?? []).map(({ containerPort }) => containerPort),
    )
    const place = await network.place(pod.metadata.uid ?? '', ports)
    if ('refused' in place) return place.refused
    try {
      await network.admit(pod, place)
    } catch (error) {
      return `The Pod's network cannot be guarded: ${errorMessage(error)}`
    }
    const granted = cards.take(pod)
    return 'missing' in granted ? granted.missing : { place, cards: granted }
  }

  /** Does a step unless it is backing off; returns the result, or the problem of this or the last try. */
  async #try<T extends object>(step: Step, act: () => Promise<T | string>): Promise<T | string> {
    const before = this.#failed.get(step)
    const { clock } = this.#options
    if (before && clock.now() < before.retryAt) return before.problem
    const result = await act()
    if (typeof result !== 'string') {
      this.#failed.delete(step)
      return result
    }
    this.#failed.set(step, { ...afterFailure(before ?? neverFailed, clock.now()), problem: result })
    this.#options.event(step === 'room' ? 'FailedCreatePodSandBox' : 'FailedMount', result)
    return result
  }

  #trySooner(step: Step): void {
    const before = this.#failed.get(step)
    if (before) this.#failed.set(step, { ...sooner(before), problem: before.problem })
  }
}

/** The setup of one Pod with this node's services. */
export function setupFor(services: PodWorkerServices, pod: Pod, event: PodSetupOptions['event']): PodSetup {
  const { clock, network, cards, hostIP, hostIP6, allocatable, tokens, runtime } = services
  const volumes = new PodVolumes({
    clock,
    tokens,
    references: (of, signal) => services.references(of, namesInVolumes(of), signal),
    write: (volume, files) => runtime.writeVolume(pod.metadata.uid ?? '', volume, files, volumeGroup(pod)?.gid),
  })
  const facts = { hostIP, hostIP6, allocatable }
  const runtimeClass = (name: string, signal: AbortSignal) => services.runtimeClass(name, signal)
  return new PodSetup({ clock, network, cards, volumes, runtimeClass, facts, event })
}
