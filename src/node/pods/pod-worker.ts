import { type Pod, isPodFinished } from '../../resources/pod.ts'
import { type ContainerMemory, leftByNode, waitingFor } from '../containers/container-memory.ts'
import { nextToStop } from '../containers/container-stops.ts'
import { type ReferencedNames, namesIn } from '../environment/referenced-objects.ts'
import { type PodIdentity, type RunningContainer, podIdentity } from '../pod-runtime.ts'
import type { PodWorkerServices } from './pod-worker-services.ts'
import { PodContainers } from './pod-containers.ts'
import { phaseAtEnd, planPod } from './pod-plan.ts'
import { type PodSetup, setupFor } from './pod-setup.ts'
import { PodStatusReport } from './pod-status-report.ts'
import { type PodOutcome, refusedStatus } from './pod-status.ts'
import { type PodVerdict, deadlineExceeded, deadlineOf, evicted, lookAt, outOfCards } from './pod-verdict.ts'
import { unsupportedPart } from './unsupported-pod.ts'

/** When the next step is due, if nothing happens before. */
interface StepResult {
  readonly requeueAfterMs?: number
}

/**
 * Leads one Pod through its life on this machine, step by step: it is refused, or set up and run with its status
 * reported, and finally ended and removed. Steps never overlap. What happens in between (`PodContainers` notes exits
 * and probe results) only asks for the next step.
 */
export class PodWorker {
  readonly identity: PodIdentity
  readonly #services: PodWorkerServices
  readonly #containers: PodContainers
  readonly #setup: PodSetup
  readonly #report: PodStatusReport
  #pod: Pod
  /** Why the node ends it, if that was decided. */
  #verdict: PodVerdict | undefined
  #nodeStopping = false
  #removed = false
  /** Refused, succeeded or failed: nothing of it will run again. */
  #done: boolean
  /** The ConfigMaps and Secrets it refers to, computed when first needed; only added containers change them. */
  #names: ReturnType<typeof namesIn> | undefined

  constructor(pod: Pod, adopted: readonly RunningContainer[], services: PodWorkerServices) {
    this.#pod = pod
    this.#services = services
    this.identity = podIdentity(pod)
    this.#done = isPodFinished(pod)
    const { clock, hostIP, hostIP6 } = services
    const write: PodWorkerServices['writeStatus'] = (...about) => services.writeStatus(...about)
    this.#report = new PodStatusReport({ clock, hostIP, hostIP6, write }, pod.status)
    this.#setup = setupFor(services, pod, (reason, message) => services.event(this.#pod, 'Warning', reason, message))
    this.#containers = new PodContainers(pod, adopted, services)
  }

  /** The Pod, while something of it runs and nothing has decided its end. */
  get activePod(): Pod | undefined {
    const ends = this.#done || this.#containers.isEndExpected
    return ends || this.#containers.running.length === 0 ? undefined : this.#pod
  }

  /** One step towards what the Pod asks for. */
  async step(pod: Pod, signal: AbortSignal): Promise<StepResult> {
    this.#follow(pod)
    if (this.#nodeStopping || this.#removed) return {}
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod, signal)
    if (this.#done && this.#containers.running.length === 0) {
      await this.#services.runtime.settle(this.identity.uid, this.#containers.names)
      return {}
    }
    const deadline = deadlineOf(pod, this.#report.startedAt)
    if ((deadline ?? Infinity) <= this.#services.clock.now()) this.#condemn(deadlineExceeded(pod), 'Normal')
    const lack = this.#services.cards.lackOf(pod)
    if (lack) this.#condemn(outOfCards(lack), 'Warning')
    if (this.#verdict) return this.#endEarly(this.#verdict, signal)
    const unsupported = unsupportedPart(pod, this.#services.hostPathAllowed)
    if (unsupported !== undefined) return this.#refuse('UnsupportedPod', unsupported, signal)
    if (!this.#services.hostPorts.take(pod)) return this.#refuse('NodePorts', 'Predicate NodePorts failed', signal)
    return this.#run(signal)
  }

  /** The Pod's object is gone: kills its processes and removes everything of it. */
  async vanish(): Promise<void> {
    this.#removed = true
    await this.#containers.kill()
    this.#release()
    await this.#services.runtime.forget(this.identity)
  }

  /** The node stops: ends the processes, and leaves the Pod so that the next start of the node runs it again. */
  async leave(graceMs: number, signal: AbortSignal): Promise<void> {
    this.#nodeStopping = true
    await this.#containers.endTogether(graceMs)
    if (this.#removed || this.#done) return
    if (this.#pod.metadata.deletionTimestamp !== undefined) return this.#services.remove(this.#pod, signal)
    const left = this.#containers.memories.map((memory) => (memory.ephemeral ? memory : leftByNode(memory)))
    await this.#writeStatus({ phase: 'Pending', initialized: false }, left, signal)
  }

  /** Ends the Pod because it uses more storage than it may. */
  evict(message: string): void {
    if (!this.activePod) return
    this.#condemn(evicted(message), 'Warning')
    this.#services.wake()
  }

  /** Tells that other Pods have released an address or cards. */
  roomFreed(): void {
    if (!this.#setup.waitsForRoom) return
    this.#setup.roomFreed()
    this.#services.wake()
  }

  /** Tells that a ConfigMap or Secret of its namespace has changed. */
  referenceChanged(kind: keyof ReferencedNames, name: string): void {
    const { volumes, environments } = (this.#names ??= namesIn(this.#pod))
    const isMounted = volumes[kind].has(name)
    if (isMounted) this.#setup.volumesChanged()
    const isAwaited = this.#containers.configChanged(
      (container) => environments.get(container)?.[kind].has(name) === true,
    )
    if (isMounted || isAwaited) this.#services.wake()
  }

  #follow(pod: Pod): void {
    const shown = ({ metadata }: Pod) => JSON.stringify([metadata.labels, metadata.annotations])
    const isShownAnew = shown(pod) !== shown(this.#pod)
    this.#pod = pod
    if (isShownAnew) {
      // Volumes and variables may be made of labels and annotations.
      this.#setup.volumesChanged()
      this.#containers.configChanged(() => true)
    }
    if (this.#containers.follow(pod)) this.#names = undefined
  }

  async #run(signal: AbortSignal): Promise<StepResult> {
    const { clock } = this.#services
    const containers = this.#containers
    const setup = await this.#setup.ensure(this.#pod, containers.running.length > 0, signal)
    if (!setup.ready) {
      const waiting = waitingFor(setup.problem, containers.memories)
      await this.#writeStatus({ phase: 'Pending', initialized: false }, waiting, signal)
      return this.#dueIn(this.#setup.dueAt)
    }
    const plan = planPod(this.#pod.spec.restartPolicy, containers.memories, clock.now())
    for (const name of plan.start) await containers.start(name, setup.place, setup.cards, signal)
    const next = planPod(this.#pod.spec.restartPolicy, containers.memories, clock.now())
    const finished = next.phase === 'Succeeded' || next.phase === 'Failed'
    const sidecars = finished ? containers.running : []
    if (finished && sidecars.length === 0) await this.#finish(next, signal)
    else await this.#writeStatus(finished ? { ...next, phase: 'Running' } : next, containers.memories, signal)
    // Sidecars end after the others, the last one first.
    containers.stop(nextToStop(sidecars), this.#pod.spec.terminationGracePeriodSeconds * 1000)
    return this.#dueIn(next.wakeAt, this.#setup.dueAt)
  }

  #condemn(verdict: PodVerdict, type: 'Normal' | 'Warning'): void {
    if (this.#verdict) return
    this.#verdict = verdict
    this.#containers.expectEnd()
    this.#services.event(this.#pod, type, verdict.reason, verdict.message)
  }

  /** Ends its containers in order, then reports that it failed and why. */
  async #endEarly({ reason, message, graceMs }: PodVerdict, signal: AbortSignal): Promise<StepResult> {
    this.#containers.stopProbes()
    if (this.#containers.endInOrder(graceMs)) return {}
    const initialized = this.#containers.closeMemories()
    await this.#finish({ phase: 'Failed', initialized, reason, message }, signal)
    return {}
  }

  /** Ends a deleted Pod: its containers in order, then reports its status, then removes its object. */
  async #terminate(pod: Pod, signal: AbortSignal): Promise<StepResult> {
    const containers = this.#containers
    const { deletionGracePeriodSeconds = 0, deletionTimestamp = '' } = pod.metadata
    // After a restart of the node, part of the grace is over. The timestamp is in whole seconds.
    const leftMs = Date.parse(deletionTimestamp) + 1000 - this.#services.clock.now()
    if (containers.endInOrder(Math.max(0, Math.min(deletionGracePeriodSeconds * 1000, leftMs)))) return {}
    containers.stopProbes()
    // A Job that still holds the Pod by a finalizer must learn how it ended.
    if (!this.#done) {
      const initialized = containers.closeMemories()
      await this.#writeStatus({ phase: phaseAtEnd(containers.memories), initialized }, containers.memories, signal)
    }
    this.#release()
    await this.#services.remove(pod, signal)
    this.#removed = true
    return {}
  }

  /** Reports the outcome, and releases the Pod's cards, address and volumes. */
  async #finish(outcome: PodOutcome, signal: AbortSignal): Promise<void> {
    await this.#services.runtime.stop(this.identity.uid, 0)
    // Before a Pod is bound, nobody can be told how it ended.
    if (!(await this.#writeStatus(outcome, this.#containers.memories, signal))) return
    this.#done = true
    this.#release()
    await this.#services.runtime.removeVolumes(this.identity.uid)
  }

  /** Reports that the Pod will not run here, and why. */
  async #refuse(reason: string, message: string, signal: AbortSignal): Promise<StepResult> {
    const status = refusedStatus(this.#pod, reason, message, this.#services.clock.now())
    if (!(await this.#services.writeStatus(this.#pod, status, signal))) return {}
    this.#services.event(this.#pod, 'Warning', reason, message)
    this.#done = true
    return {}
  }

  /**
   * Writes the status, and returns whether the cluster knows it. Once it knows how containers ended, the runtime can
   * forget it.
   */
  async #writeStatus(outcome: PodOutcome, memories: readonly ContainerMemory[], signal: AbortSignal): Promise<boolean> {
    const { network, runtime } = this.#services
    const { uid } = this.identity
    const place = this.#nodeStopping ? undefined : network.of(uid)
    if (!(await this.#report.write(this.#pod, outcome, memories, place, signal))) return false
    const told = memories.filter(({ state }) => state.type !== 'running').map(({ spec }) => spec.name)
    await runtime.settle(uid, told)
    return true
  }

  #release(): void {
    const { cards, network, hostPorts } = this.#services
    for (const held of [cards, network, hostPorts]) held.release(this.identity.uid)
    this.#services.roomFreed()
  }

  /** The earliest of these times and the Pod's deadline, but not at once: others have a turn before. */
  #dueIn(...times: readonly (number | undefined)[]): StepResult {
    const now = this.#services.clock.now()
    const deadline = lookAt(deadlineOf(this.#pod, this.#report.startedAt), now)
    const dueAt = Math.min(deadline, ...times.map((time) => time ?? Infinity))
    return dueAt === Infinity ? {} : { requeueAfterMs: Math.max(1, dueAt - now) }
  }
}
