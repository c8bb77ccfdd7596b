import { errorMessage } from '../../foundation/errors.ts'
import type { Container, Pod } from '../../resources/pod.ts'
import type { PodCards } from '../cards/card-ledger.ts'
import {
  type ContainerMemory,
  afterExit,
  afterRefusal,
  afterStart,
  afterStartError,
  attemptOf,
  freshMemory,
  fullName,
  lacksConfig,
  trySooner,
} from '../containers/container-memory.ts'
import { ContainerStops, type StoppableContainer, nextToStop } from '../containers/container-stops.ts'
import { runPostStart } from '../containers/lifecycle-handler.ts'
import { OutputStart } from '../containers/output-start.ts'
import { recallContainers } from '../containers/recalled-containers.ts'
import { startContainer } from '../containers/start-container.ts'
import type { PodPlace } from '../network/pod-network.ts'
import { ContainerRefused, type RunningContainer, podIdentity } from '../pod-runtime.ts'
import type { PodWorkerServices } from './pod-worker-services.ts'
import { ContainerProbes } from '../probes/container-probes.ts'
import { containerParts, isSidecar } from './pod-parts.ts'
import { planPod } from './pod-plan.ts'
import { afterVerdict } from './pod-verdict.ts'

/**
 * The containers of one Pod, running or not: it starts, probes and stops them as it is told, and remembers what became
 * of each. Whatever happens to one by itself (it exits, a probe changes its mind) is noted in its memory, and wakes the
 * Pod's worker.
 */
export class PodContainers {
  readonly #services: PodWorkerServices
  readonly #uid: string
  readonly #containers = new Map<string, ContainerMemory>()
  readonly #probes: ContainerProbes
  readonly #stops: ContainerStops
  /** Ends running hooks when nothing of the Pod is wanted any more. */
  readonly #over = new AbortController()
  #pod: Pod
  #isEndExpected = false
  #isEndAnnounced = false

  /** `adopted` are its containers that already run. */
  constructor(pod: Pod, adopted: readonly RunningContainer[], services: PodWorkerServices) {
    this.#pod = pod
    this.#uid = podIdentity(pod).uid
    this.#services = services
    const { clock, log, runtime } = services
    this.#probes = new ContainerProbes({
      clock,
      log,
      run: (container, words, signal) => this.#runInside(container, words, signal),
      change: (container, change) => this.#change(container, (memory) => ({ ...memory, ...change })),
      event: (type, reason, message) => this.#event(type, reason, message),
      restart: (container, why, graceSeconds) => this.#restart(container, why, graceSeconds),
    })
    this.#stops = new ContainerStops({
      runtime,
      clock,
      hookFailed: (container, why) =>
        this.#event('Warning', 'FailedPreStopHook', `PreStop hook of ${container} failed: ${why}`),
    })
    for (const memory of recallContainers(pod, adopted, runtime.unsettled(this.#uid), clock.now())) {
      const { spec, state } = memory
      this.#containers.set(spec.name, memory)
      if (state.type !== 'running') continue
      this.#watch(state.running, memory)
      this.#probes.start(spec, state.running, memory)
    }
  }

  get names(): string[] {
    return [...this.#containers.keys()]
  }

  get memories(): ContainerMemory[] {
    return [...this.#containers.values()]
  }

  get running(): StoppableContainer[] {
    return this.memories.flatMap(({ state, spec, init }) =>
      state.type === 'running' ? [{ spec, running: state.running, sidecar: init && isSidecar(spec) }] : [],
    )
  }

  /** Whether all of them are to end, so that none is restarted. */
  get isEndExpected(): boolean {
    return this.#isEndExpected
  }

  /**
   * Takes the Pod's newest version. Returns whether containers were added to it; nothing else in a Pod's spec changes.
   */
  follow(pod: Pod): boolean {
    this.#pod = pod
    const added = (pod.spec.ephemeralContainers ?? []).filter(({ name }) => !this.#containers.has(name))
    for (const spec of added) this.#containers.set(spec.name, freshMemory(spec, false, true))
    return added.length > 0
  }

  /** Starts a container, or notes why that failed and when to try again. */
  async start(name: string, place: PodPlace, granted: PodCards, signal: AbortSignal): Promise<void> {
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
      this.#containers.set(name, this.#afterFailedStart(memory, error))
    }
  }

  /** Stops these containers, giving each this much time to end by itself. */
  stop(targets: readonly StoppableContainer[], graceMs: number): void {
    const { log } = this.#services
    for (const { spec, running } of targets) {
      this.#stops.stop(spec, running, graceMs).then(
        () => this.#services.wake(),
        (error: unknown) => log.error({ err: error }, 'stop failed'),
      )
    }
  }

  /** From now on exits are expected: nothing is restarted, and no back-off is reported. */
  expectEnd(): void {
    this.#isEndExpected = true
  }

  /** Stops the containers whose turn it is; to be called again until it returns `false`, when none runs any more. */
  endInOrder(graceMs: number): boolean {
    this.expectEnd()
    const { running } = this
    if (!this.#isEndAnnounced) {
      for (const { spec } of running) this.#event('Normal', 'Killing', `Stopping container ${spec.name}`)
    }
    this.#isEndAnnounced ||= running.length > 0
    this.stop(nextToStop(running), graceMs)
    return running.length > 0
  }

  /** Ends all containers at the same time. Resolves when they have ended. */
  async endTogether(graceMs: number): Promise<void> {
    this.expectEnd()
    this.stopProbes()
    await Promise.all(this.running.map(({ spec, running }) => this.#stops.stop(spec, running, graceMs)))
    this.#over.abort(new Error('the node stops'))
  }

  /** Kills whatever is left of them. */
  async kill(): Promise<void> {
    this.expectEnd()
    this.stopProbes()
    this.#over.abort(new Error('the Pod is gone'))
    await this.#services.runtime.stop(this.#uid, 0)
  }

  stopProbes(): void {
    this.#probes.stopAll()
  }

  /** Gives containers that will never run their final state. Returns whether the Pod had been initialized. */
  closeMemories(): boolean {
    const now = this.#services.clock.now()
    const { initialized } = planPod(this.#pod.spec.restartPolicy, this.memories, now)
    for (const memory of afterVerdict(this.memories, initialized, now)) this.#containers.set(memory.spec.name, memory)
    return initialized
  }

  /**
   * Brings forward the next start of containers that lacked configuration which has changed now. Returns whether there
   * are any.
   */
  configChanged(isConcerned: (container: string) => boolean): boolean {
    const waiting = this.memories.filter((memory) => lacksConfig(memory) && isConcerned(memory.spec.name))
    for (const memory of waiting) this.#containers.set(memory.spec.name, trySooner(memory))
    return waiting.length > 0
  }

  #afterFailedStart(memory: ContainerMemory, error: unknown): ContainerMemory {
    const now = this.#services.clock.now()
    const reason = error instanceof ContainerRefused ? error.reason : 'RunContainerError'
    const message = errorMessage(error)
    this.#event('Warning', 'Failed', `Error: ${message}`)
    const isTriedOnce = memory.ephemeral || this.#pod.spec.restartPolicy === 'Never'
    const isFinal = reason === 'RunContainerError' && isTriedOnce
    return isFinal ? afterStartError(memory, message, now) : afterRefusal(memory, reason, message, now)
  }

  #watch(running: RunningContainer, memory: ContainerMemory): void {
    const name = running.container
    this.#containers.set(name, memory)
    void running.exited.then((exit) => {
      this.#probes.stop(name)
      const state = { type: 'exited', exit, startedAt: running.startedAt } as const
      this.#change(name, (current) => afterExit({ ...current, state }, this.#services.clock.now()))
      const { backoff, ephemeral } = this.#containers.get(name) ?? memory
      if (backoff.delayMs === 0 || ephemeral || this.#isEndExpected) return
      this.#event('Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${fullName(this.#pod)}`)
    })
  }

  /** Stops one; the worker's next step starts it again. */
  #restart(container: string, why: string, graceSeconds = this.#pod.spec.terminationGracePeriodSeconds): void {
    if (this.#isEndExpected) return
    this.#event('Normal', 'Killing', `Container ${container} ${why}, will be restarted`)
    const targets = this.running.filter(({ spec }) => spec.name === container)
    this.stop(targets, graceSeconds * 1000)
  }

  /** The container counts as started when its hook has ended; one whose hook fails is restarted. */
  async #runPostStart(container: Container, running: RunningContainer): Promise<void> {
    const { runtime, clock } = this.#services
    const problem = await runPostStart(container, running, runtime, clock, this.#over.signal)
    const memory = this.#containers.get(container.name)
    if (this.#over.signal.aborted || memory?.state.type !== 'running' || memory.state.running !== running) return
    if (problem !== undefined) {
      this.#event('Warning', 'FailedPostStartHook', `PostStart hook failed: ${problem}`)
      return this.#restart(container.name, 'failed its PostStart hook')
    }
    const { started, ready } = afterStart(memory, running)
    this.#change(container.name, (current) => ({ ...current, started, ready }))
    this.#probes.start(container, running, { started, ready })
  }

  async #runInside(container: string, words: readonly string[], signal: AbortSignal) {
    const output = new OutputStart(this.#services.clock)
    const streams = { stdout: output, stderr: output }
    const { exitCode } = await this.#services.runtime.exec(this.#uid, container, words, streams, signal)
    return { exitCode, output: output.text }
  }

  #change(name: string, change: (memory: ContainerMemory) => ContainerMemory): void {
    const memory = this.#containers.get(name)
    if (!memory) return
    this.#containers.set(name, change(memory))
    this.#services.wake()
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#services.event(this.#pod, type, reason, message)
  }
}
