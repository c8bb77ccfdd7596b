import type { PodPlace } from './network/pod-network.ts'
import { errorMessage } from '../foundation/errors.ts'
import { type Container, type Pod, isPodFinished } from '../resources/pod.ts'
import type { PodCards } from './cards/card-ledger.ts'
import { ContainerProbes } from './probes/container-probes.ts'
import { ContainerStops, type StoppableContainer, nextToStop } from './containers/container-stops.ts'
import {
  type ContainerMemory,
  waitingFor,
  afterExit,
  afterRefusal,
  afterStartError,
  afterStart,
  attemptOf,
  freshMemory,
  fullName,
  lacksConfig,
  leftByNode,
  trySooner,
} from './containers/container-memory.ts'
import { runPostStart } from './containers/lifecycle-handler.ts'
import { OutputStart } from './containers/output-start.ts'
import { containerParts, isSidecar } from './pods/pod-parts.ts'
import { phaseAtEnd, planPod } from './pods/pod-plan.ts'
import { ContainerRefused, type PodIdentity, type RunningContainer } from './pod-runtime.ts'
import { PodStatusReport } from './pods/pod-status-report.ts'
import { type PodOutcome, refusedStatus } from './pods/pod-status.ts'
import {
  type PodVerdict,
  afterVerdict,
  deadlineExceeded,
  deadlineOf,
  evicted,
  outOfCards,
  lookAt,
} from './pods/pod-verdict.ts'
import { type PodSetup, setupFor } from './pods/pod-setup.ts'
import { startContainer } from './containers/start-container.ts'
import { recallContainers } from './containers/recalled-containers.ts'
import { type ReferencedNames, namesIn } from './environment/referenced-objects.ts'
import type { PodWorkerServices } from './pod-worker-services.ts'
import { unsupportedPart } from './pods/unsupported-pod.ts'

/**
 * Owns what one Pod is on this machine. Steps never overlap; exits and probes only note what happened and ask for a
 * step.
 */
export class PodWorker {
  readonly identity: PodIdentity
  readonly #services: PodWorkerServices
  readonly #containers = new Map<string, ContainerMemory>()
  readonly #probes: ContainerProbes
  readonly #stops: ContainerStops
  readonly #setup: PodSetup
  /** Ends hooks that still run when nothing of the Pod is wanted any more. */
  readonly #ended = new AbortController()
  #pod: Pod
  readonly #report: PodStatusReport
  #terminating = false
  #stopAnnounced = false
  /** Why it is ended, where neither its containers nor its deletion do it. */
  #verdict: PodVerdict | undefined
  #nodeStopping = false
  #removed = false
  /** Refused, succeeded or failed: nothing of it will run again. */
  #done: boolean
  /** What it refers to; a Pod's spec stays as it is, but for containers that are added. */
  #names: ReturnType<typeof namesIn> | undefined

  constructor(pod: Pod, adopted: readonly RunningContainer[], services: PodWorkerServices) {
    this.#pod = pod
    this.#services = services
    const { clock, hostIP, hostIP6 } = services
    this.#report = new PodStatusReport(
      { clock, hostIP, hostIP6, write: (...about) => services.writeStatus(...about) },
      pod.status,
    )
    this.#done = isPodFinished(pod)
    const { namespace = '', name, uid = '' } = pod.metadata
    this.identity = { namespace, name, uid }
    this.#probes = new ContainerProbes({
      clock,
      log: services.log,
      run: (container, words, signal) => this.#runInside(container, words, signal),
      change: (container, change) => this.#change(container, (memory) => ({ ...memory, ...change })),
      event: (type, reason, message) => services.event(this.#pod, type, reason, message),
      restart: (container, why, graceSeconds) => this.#restart(container, why, graceSeconds),
    })
    this.#stops = new ContainerStops({
      runtime: services.runtime,
      clock,
      hookFailed: (container, why) =>
        services.event(this.#pod, 'Warning', 'FailedPreStopHook', `PreStop hook of ${container} failed: ${why}`),
    })
    this.#setup = setupFor(services, pod, (reason, message) => services.event(this.#pod, 'Warning', reason, message))
    this.#recall(pod, adopted)
  }

  /** One step towards what the Pod asks for. Returns when the next is due, if nothing happens before. */
  async step(pod: Pod, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const shown = ({ metadata }: Pod) => JSON.stringify([metadata.labels, metadata.annotations])
    if (shown(pod) !== shown(this.#pod)) this.#factsChanged()
    this.#pod = pod
    this.#meetAdded(pod)
    if (this.#nodeStopping || this.#removed) return {}
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod, signal)
    if (this.#done && this.#runningNow().length === 0) {
      await this.#services.runtime.settle(this.identity.uid, [...this.#containers.keys()])
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

  /** The Pod's object is gone: nothing waits for its processes any more. */
  async vanish(): Promise<void> {
    this.#removed = true
    this.#probes.stopAll()
    this.#ended.abort(new Error('the Pod is gone'))
    await this.#services.runtime.stop(this.identity.uid, 0)
    this.#release()
    await this.#services.runtime.forget(this.identity)
  }

  /** The node stops: the processes end, and the Pod is left so that the next start of the node runs it again. */
  async leave(graceMs: number, signal: AbortSignal): Promise<void> {
    this.#nodeStopping = true
    this.#probes.stopAll()
    await Promise.all(this.#runningNow().map(({ spec, running }) => this.#stops.stop(spec, running, graceMs)))
    this.#ended.abort(new Error('the node stops'))
    if (this.#removed || this.#done) return
    if (this.#pod.metadata.deletionTimestamp !== undefined) return this.#services.remove(this.#pod, signal)
    const left = this.#memories().map((memory) => (memory.ephemeral ? memory : leftByNode(memory)))
    await this.#writeStatus({ phase: 'Pending', initialized: false }, left, signal)
  }

  async #run(signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { clock } = this.#services
    const setup = await this.#setup.ensure(this.#pod, this.#runningNow().length > 0, signal)
    if (!setup.ready) {
      const memories = waitingFor(setup.problem, this.#memories())
      await this.#writeStatus({ phase: 'Pending', initialized: false }, memories, signal)
      return this.#dueIn(this.#setup.dueAt)
    }
    const plan = planPod(this.#pod.spec.restartPolicy, this.#memories(), clock.now())
    for (const name of plan.start) await this.#start(name, setup.place, setup.cards, signal)
    const next = planPod(this.#pod.spec.restartPolicy, this.#memories(), clock.now())
    const finished = next.phase === 'Succeeded' || next.phase === 'Failed'
    const sidecars = finished ? this.#runningNow() : []
    if (finished && sidecars.length === 0) await this.#finish(next, signal)
    else await this.#writeStatus(finished ? { ...next, phase: 'Running' } : next, this.#memories(), signal)
    // What accompanied the others goes last, the last one first.
    this.#stop(nextToStop(sidecars), this.#pod.spec.terminationGracePeriodSeconds * 1000)
    return this.#dueIn(next.wakeAt, this.#setup.dueAt)
  }

  /** The Pod, as long as something of it runs and nobody has decided that it ends. */
  get activePod(): Pod | undefined {
    const ends = this.#done || this.#removed || this.#nodeStopping || this.#terminating || this.#verdict
    return ends || this.#runningNow().length === 0 ? undefined : this.#pod
  }

  /** The Pod uses more of the machine's storage than it may. */
  evict(message: string): void {
    if (!this.activePod) return
    this.#condemn(evicted(message), 'Warning')
    this.#services.wake()
  }

  #condemn(verdict: PodVerdict, type: 'Normal' | 'Warning'): void {
    if (this.#verdict) return
    this.#verdict = verdict
    this.#services.event(this.#pod, type, verdict.reason, verdict.message)
  }

  /** Ends its containers in good order, then says that it failed and why. */
  async #endEarly(verdict: PodVerdict, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    this.#probes.stopAll()
    const running = this.#runningNow()
    if (running.length > 0) {
      this.#announceStop(running)
      this.#stop(nextToStop(running), verdict.graceMs)
      return {}
    }
    const { reason, message } = verdict
    await this.#finish({ phase: 'Failed', initialized: this.#closeContainers(), reason, message }, signal)
    return {}
  }

  /** Nothing of it will run any more. Answers whether its init containers had done their part. */
  #closeContainers(): boolean {
    const now = this.#services.clock.now()
    const { initialized } = planPod(this.#pod.spec.restartPolicy, this.#memories(), now)
    for (const memory of afterVerdict(this.#memories(), initialized, now)) {
      this.#containers.set(memory.spec.name, memory)
    }
    return initialized
  }

  #announceStop(running: readonly StoppableContainer[]): void {
    if (this.#stopAnnounced) return
    this.#stopAnnounced = true
    for (const { spec } of running) {
      this.#services.event(this.#pod, 'Normal', 'Killing', `Stopping container ${spec.name}`)
    }
  }

  /** Others have let go of an address or of cards. */
  roomFreed(): void {
    if (!this.#setup.waitsForRoom) return
    this.#setup.roomFreed()
    this.#services.wake()
  }

  /** Labels or annotations of the Pod, of which its volumes and its containers' variables may be made. */
  #factsChanged(): void {
    this.#setup.volumesChanged()
    for (const [name, memory] of this.#containers) {
      if (lacksConfig(memory)) this.#containers.set(name, trySooner(memory))
    }
  }

  /** A ConfigMap or Secret has changed. */
  referenceChanged(kind: keyof ReferencedNames, name: string): void {
    this.#names ??= namesIn(this.#pod)
    const inVolumes = this.#names.volumes[kind].has(name)
    if (inVolumes) this.#setup.volumesChanged()
    let waited = inVolumes
    for (const [container, memory] of this.#containers) {
      if (!lacksConfig(memory) || this.#names.environments.get(container)?.[kind].has(name) !== true) continue
      this.#containers.set(container, trySooner(memory))
      waited = true
    }
    if (waited) this.#services.wake()
  }

  async #start(name: string, place: PodPlace, granted: PodCards, signal: AbortSignal): Promise<void> {
    const memory = this.#containers.get(name)
    if (!memory) return
    const { spec: container } = memory
    try {
      const target = this.#pod.spec.ephemeralContainers?.find((added) => added.name === name)?.targetContainerName
      const start = { container, attempt: attemptOf(memory), place, cards: granted.get(name) ?? [], target }
      const running = await startContainer(this.#services, this.#pod, start, signal)
      const { postStart } = containerParts(container).lifecycle
      this.#watch(running, { ...afterStart(memory, running), ...(postStart && { started: false, ready: false }) })
      if (postStart) void this.#runPostStart(container, running)
      else this.#probes.start(container, running, { started: container.startupProbe === undefined, ready: false })
    } catch (error) {
      if (signal.aborted) throw error
      const now = this.#services.clock.now()
      const reason = error instanceof ContainerRefused ? error.reason : 'RunContainerError'
      const message = errorMessage(error)
      this.#services.event(this.#pod, 'Warning', 'Failed', `Error: ${message}`)
      const isTriedOnce = memory.ephemeral || this.#pod.spec.restartPolicy === 'Never'
      const isFinal = reason === 'RunContainerError' && isTriedOnce
      const next = isFinal ? afterStartError(memory, message, now) : afterRefusal(memory, reason, message, now)
      this.#containers.set(name, next)
    }
  }

  #watch(running: RunningContainer, memory: ContainerMemory): void {
    const name = running.container
    this.#containers.set(name, memory)
    void running.exited.then((exit) => {
      this.#probes.stop(name)
      const { clock } = this.#services
      this.#change(name, (current) =>
        afterExit({ ...current, state: { type: 'exited', exit, startedAt: running.startedAt } }, clock.now()),
      )
      const { backoff, ephemeral } = this.#containers.get(name) ?? memory
      if (backoff.delayMs > 0 && !ephemeral && !this.#terminating && !this.#nodeStopping && !this.#verdict) {
        const message = `Back-off restarting failed container ${name} in pod ${fullName(this.#pod)}`
        this.#services.event(this.#pod, 'Warning', 'BackOff', message)
      }
    })
  }

  #restart(container: string, why: string, graceSeconds = this.#pod.spec.terminationGracePeriodSeconds): void {
    if (this.#nodeStopping || this.#removed || this.#terminating || this.#verdict) return
    this.#services.event(this.#pod, 'Normal', 'Killing', `Container ${container} ${why}, will be restarted`)
    const targets = this.#runningNow().filter(({ spec }) => spec.name === container)
    this.#stop(targets, graceSeconds * 1000)
  }

  #stop(targets: readonly StoppableContainer[], graceMs: number): void {
    const { log } = this.#services
    for (const { spec, running } of targets) {
      this.#stops.stop(spec, running, graceMs).then(
        () => this.#services.wake(),
        (error: unknown) => log.error({ err: error }, 'stop failed'),
      )
    }
  }

  /** The container counts as started when its hook has ended; one whose hook fails is restarted. */
  async #runPostStart(container: Container, running: RunningContainer): Promise<void> {
    const { runtime, clock } = this.#services
    const problem = await runPostStart(container, running, runtime, clock, this.#ended.signal)
    const memory = this.#containers.get(container.name)
    if (this.#ended.signal.aborted || memory?.state.type !== 'running' || memory.state.running !== running) return
    if (problem !== undefined) {
      this.#services.event(this.#pod, 'Warning', 'FailedPostStartHook', `PostStart hook failed: ${problem}`)
      return this.#restart(container.name, 'failed its PostStart hook')
    }
    const { started, ready } = afterStart(memory, running)
    this.#change(container.name, (current) => ({ ...current, started, ready }))
    this.#probes.start(container, running, { started, ready })
  }

  async #runInside(container: string, words: readonly string[], signal: AbortSignal) {
    const output = new OutputStart(this.#services.clock)
    const streams = { stdout: output, stderr: output }
    const { exitCode } = await this.#services.runtime.exec(this.identity.uid, container, words, streams, signal)
    return { exitCode, output: output.text }
  }

  async #terminate(pod: Pod, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { clock } = this.#services
    const graceSeconds = pod.metadata.deletionGracePeriodSeconds ?? 0
    const running = this.#runningNow()
    if (running.length > 0) {
      this.#announceStop(running)
      this.#terminating = true
      // After a restart of the node, part of the grace is already over. Times are in whole seconds.
      const leftMs = Date.parse(pod.metadata.deletionTimestamp ?? '') + 1000 - clock.now()
      this.#stop(nextToStop(running), Math.max(0, Math.min(graceSeconds * 1000, leftMs)))
      return {}
    }
    this.#probes.stopAll()
    // Who still holds the Pod by a finalizer, as a Job does, is told how it ended.
    if (!this.#done) {
      const initialized = this.#closeContainers()
      await this.#writeStatus({ phase: phaseAtEnd(this.#memories()), initialized }, this.#memories(), signal)
    }
    this.#release()
    await this.#services.remove(pod, signal)
    this.#removed = true
    return {}
  }

  /** Its processes are gone for good: others may have its cards and its address. */
  async #finish(outcome: PodOutcome, signal: AbortSignal): Promise<void> {
    await this.#services.runtime.stop(this.identity.uid, 0)
    await this.#writeStatus(outcome, this.#memories(), signal)
    this.#done = true
    this.#release()
    await this.#services.runtime.removeVolumes(this.identity.uid)
  }

  async #refuse(reason: string, message: string, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const status = refusedStatus(this.#pod, reason, message, this.#services.clock.now())
    if (!(await this.#services.writeStatus(this.#pod, status, signal))) return {}
    this.#services.event(this.#pod, 'Warning', reason, message)
    this.#done = true
    return {}
  }

  async #writeStatus(outcome: PodOutcome, memories: readonly ContainerMemory[], signal: AbortSignal): Promise<void> {
    const { network, runtime } = this.#services
    const { uid } = this.identity
    const place = this.#nodeStopping ? undefined : network.of(uid)
    if (!(await this.#report.write(this.#pod, outcome, memories, place, signal))) return
    const told = memories.filter(({ state }) => state.type !== 'running').map(({ spec }) => spec.name)
    await runtime.settle(uid, told)
  }

  #change(name: string, change: (memory: ContainerMemory) => ContainerMemory): void {
    const memory = this.#containers.get(name)
    if (!memory) return
    this.#containers.set(name, change(memory))
    this.#services.wake()
  }

  #recall(pod: Pod, adopted: readonly RunningContainer[]): void {
    const { clock, runtime } = this.#services
    const unsettled = runtime.unsettled(this.identity.uid)
    for (const memory of recallContainers(pod, adopted, unsettled, clock.now())) {
      const { spec, state } = memory
      this.#containers.set(spec.name, memory)
      if (state.type !== 'running') continue
      this.#watch(state.running, memory)
      this.#probes.start(spec, state.running, memory)
    }
  }

  /** Containers that were added while it runs. */
  #meetAdded({ spec }: Pod): void {
    for (const added of spec.ephemeralContainers ?? []) {
      if (this.#containers.has(added.name)) continue
      this.#containers.set(added.name, freshMemory(added, false, true))
      this.#names = undefined
    }
  }

  #memories(): ContainerMemory[] {
    return [...this.#containers.values()]
  }

  #runningNow(): StoppableContainer[] {
    return this.#memories().flatMap(({ state, spec, init }) =>
      state.type === 'running' ? [{ spec, running: state.running, sidecar: init && isSidecar(spec) }] : [],
    )
  }

  #release(): void {
    const { cards, network, hostPorts } = this.#services
    for (const held of [cards, network, hostPorts]) held.release(this.identity.uid)
    this.#services.roomFreed()
  }

  /**
   * The earliest of these times and of the Pod's deadline; never at once: everybody else has a turn before the next
   * step.
   */
  #dueIn(...times: readonly (number | undefined)[]): { requeueAfterMs?: number } {
    const now = this.#services.clock.now()
    const deadline = lookAt(deadlineOf(this.#pod, this.#report.startedAt), now)
    const dueAt = Math.min(deadline, ...times.map((time) => time ?? Infinity))
    return dueAt === Infinity ? {} : { requeueAfterMs: Math.max(1, dueAt - now) }
  }
}
