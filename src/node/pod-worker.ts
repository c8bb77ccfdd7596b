import type { PodPlace } from './network/pod-network.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import { errorMessage } from '../foundation/errors.ts'
import { type Container, type Pod, isPodFinished } from '../resources/pod.ts'
import type { PodCards } from './card-ledger.ts'
import { ContainerProbes } from './container-probes.ts'
import { ContainerStops, type StoppableContainer, nextToStop } from './container-stops.ts'
import {
  type ContainerMemory,
  adoptedMemory,
  waitingFor,
  afterExit,
  afterRefusal,
  afterStartError,
  afterStart,
  attemptOf,
  nodeStoppedReason,
  recalledMemory,
  trySooner,
} from './container-memory.ts'
import { runPostStart } from './lifecycle-handler.ts'
import { OutputStart } from './output-start.ts'
import { containerParts, isSidecar } from './pod-parts.ts'
import { type PodPlan, planPod } from './pod-plan.ts'
import { ContainerRefused, type PodIdentity, type RunningContainer } from './pod-runtime.ts'
import { type PodStatus, podStatus, refusedStatus, withForeignConditions } from './pod-status.ts'
import { PodSetup } from './pod-setup.ts'
import { PodVolumes } from './pod-volumes.ts'
import { volumeGroup } from './security/security-plan.ts'
import { type ReferencedNames, namesIn, namesInEnvironment, namesInVolumes } from './referenced-objects.ts'
import type { PodWorkerServices } from './pod-worker-services.ts'
import { unenforcedParts, unsupportedPart } from './unsupported-pod.ts'

/** Owns what one Pod is on this machine. Steps never overlap; exits and probes only note what happened and ask for a step. */
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
  #status: PodStatus | undefined
  #terminating = false
  #nodeStopping = false
  #removed = false
  /** Refused, succeeded or failed: nothing of it will run again. */
  #done: boolean
  /** What it refers to; a Pod's spec stays as it is. */
  #names: ReturnType<typeof namesIn> | undefined

  constructor(pod: Pod, adopted: readonly RunningContainer[], services: PodWorkerServices) {
    this.#pod = pod
    this.#services = services
    this.#status = pod.status
    this.#done = isPodFinished(pod)
    const { namespace = '', name, uid = '' } = pod.metadata
    this.identity = { namespace, name, uid }
    this.#probes = new ContainerProbes({
      clock: services.clock,
      log: services.log,
      run: (container, words, signal) => this.#runInside(container, words, signal),
      change: (container, change) => this.#change(container, (memory) => ({ ...memory, ...change })),
      event: (type, reason, message) => services.event(this.#pod, type, reason, message),
      restart: (container, why) => this.#restart(container, why),
    })
    this.#stops = new ContainerStops({
      runtime: services.runtime,
      clock: services.clock,
      hookFailed: (container, why) =>
        services.event(this.#pod, 'Warning', 'FailedPreStopHook', `PreStop hook of ${container} failed: ${why}`),
    })
    const volumes = new PodVolumes({
      clock: services.clock,
      tokens: services.tokens,
      references: (of, signal) => services.references(of, namesInVolumes(of), signal),
      write: (volume, files) => services.runtime.writeVolume(uid, volume, files, volumeGroup(pod)?.gid),
    })
    const { clock, network, cards, hostIP, allocatable } = services
    this.#setup = new PodSetup({
      clock,
      network,
      cards,
      volumes,
      facts: { hostIP, allocatable },
      event: (reason, message) => services.event(this.#pod, 'Warning', reason, message),
    })
    this.#recall(pod, adopted)
  }

  /** One step towards what the Pod asks for. Returns when the next is due, if nothing happens before. */
  async step(pod: Pod, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const shown = ({ metadata }: Pod) => JSON.stringify([metadata.labels, metadata.annotations])
    if (shown(pod) !== shown(this.#pod)) this.#setup.volumesChanged()
    this.#pod = pod
    if (this.#nodeStopping || this.#removed) return {}
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod, signal)
    if (this.#done && this.#running().length === 0) {
      await this.#services.runtime.settle(this.identity.uid, [...this.#containers.keys()])
      return {}
    }
    const unsupported = unsupportedPart(pod, this.#services.hostPathAllowed)
    if (unsupported !== undefined) return this.#refuse('UnsupportedPod', unsupported, signal)
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
    const waiting = {
      type: 'waiting',
      reason: nodeStoppedReason,
      message: 'The node was stopped; it starts again with it.',
    } as const
    const left = [...this.#containers.values()].map((memory) => ({
      ...memory,
      state: waiting,
      ready: false,
      started: false,
    }))
    await this.#writeStatus({ phase: 'Pending', initialized: false }, left, signal)
  }

  async #run(signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { clock } = this.#services
    const setup = await this.#setup.ensure(this.#pod, this.#running().length > 0, signal)
    if (!setup.ready) {
      const memories = waitingFor(setup.problem, this.#memories())
      await this.#writeStatus({ phase: 'Pending', initialized: false }, memories, signal)
      return dueIn(this.#setup.dueAt, clock.now())
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
    return dueIn(Math.min(next.wakeAt ?? Infinity, this.#setup.dueAt ?? Infinity), clock.now())
  }

  /** Others have let go of an address or of cards. */
  roomFreed(): void {
    if (!this.#setup.waitsForRoom) return
    this.#setup.roomFreed()
    this.#services.wake()
  }

  /** A ConfigMap or Secret has changed. */
  referenceChanged(kind: keyof ReferencedNames, name: string): void {
    this.#names ??= namesIn(this.#pod)
    const inVolumes = this.#names.volumes[kind].has(name)
    if (inVolumes) this.#setup.volumesChanged()
    let waited = inVolumes
    for (const [container, memory] of this.#containers) {
      const missing = memory.state.type === 'waiting' && memory.state.reason === 'CreateContainerConfigError'
      if (!missing || this.#names.environments.get(container)?.[kind].has(name) !== true) continue
      this.#containers.set(container, trySooner(memory))
      waited = true
    }
    if (waited) this.#services.wake()
  }

  async #start(name: string, place: PodPlace, granted: PodCards, signal: AbortSignal): Promise<void> {
    const { runtime, clock } = this.#services
    const memory = this.#containers.get(name)
    if (!memory) return
    const { spec: container } = memory
    const cards = granted.get(name) ?? []
    try {
      const { allocatable, simulatedCards: cardsSimulated } = this.#services
      const references = await this.#services.references(this.#pod, namesInEnvironment(container), signal)
      const attempt = attemptOf(memory)
      const serviceVariables = this.#services.serviceVariables?.(this.#pod) ?? {}
      const { address: podIP, namespace: network } = place
      // A Pod that was started in the machine's network goes by the machine's names.
      const names = network === '' ? undefined : this.#services.names?.(this.#pod, podIP)
      for (const warning of attempt === 0 ? (names?.warnings ?? []) : []) {
        this.#services.event(this.#pod, 'Warning', 'DNSConfigForming', warning)
      }
      const about = { attempt, podIP, network, names, cards, cardsSimulated, references, serviceVariables, allocatable }
      const launch = { pod: this.#pod, container, ...about }
      for (const message of attempt === 0 ? unenforcedParts(this.#pod, container) : []) {
        this.#services.event(this.#pod, 'Warning', 'NotEnforced', message)
      }
      const running = await runtime.start(launch, signal)
      const image = `Container image "${container.image}" is a program of this machine`
      this.#services.event(this.#pod, 'Normal', 'Pulled', image)
      this.#services.event(this.#pod, 'Normal', 'Created', `Created container: ${name}`)
      const ofCards =
        cards.length > 0 ? ` with ${this.#services.simulatedCards ? 'simulated ' : ''}cards ${cards.join(', ')}` : ''
      const started = `Started container ${name} as process ${running.pid} on ${podIP}${ofCards}`
      this.#services.event(this.#pod, 'Normal', 'Started', started)
      const { postStart } = containerParts(container).lifecycle
      this.#watch(running, { ...afterStart(memory, running), ...(postStart && { started: false, ready: false }) })
      if (postStart) void this.#runPostStart(container, running)
      else this.#probes.start(container, running, { started: container.startupProbe === undefined, ready: false })
    } catch (error) {
      if (signal.aborted) throw error
      const reason = error instanceof ContainerRefused ? error.reason : 'RunContainerError'
      this.#services.event(this.#pod, 'Warning', 'Failed', `Error: ${errorMessage(error)}`)
      const isFinal = reason === 'RunContainerError' && this.#pod.spec.restartPolicy === 'Never'
      const message = errorMessage(error)
      this.#containers.set(
        name,
        isFinal ? afterStartError(memory, message, clock.now()) : afterRefusal(memory, reason, message, clock.now()),
      )
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
      const delay = this.#containers.get(name)?.backoff.delayMs ?? 0
      if (delay > 0 && !this.#terminating && !this.#nodeStopping) {
        const message = `Back-off ${delay / 1000}s restarting failed container ${name} (exit code ${exit.exitCode})`
        this.#services.event(this.#pod, 'Warning', 'BackOff', message)
      }
    })
  }

  #restart(container: string, why: string): void {
    if (this.#nodeStopping || this.#removed || this.#terminating) return
    this.#services.event(this.#pod, 'Normal', 'Killing', `Container ${container} ${why}, will be restarted`)
    const graceMs = this.#pod.spec.terminationGracePeriodSeconds * 1000
    this.#stop(
      this.#runningNow().filter(({ spec }) => spec.name === container),
      graceMs,
    )
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
      if (!this.#terminating) {
        for (const { spec } of running)
          this.#services.event(pod, 'Normal', 'Killing', `Stopping container ${spec.name}`)
      }
      this.#terminating = true
      // After a restart of the node, part of the grace is already over. Times are in whole seconds.
      const leftMs = Date.parse(pod.metadata.deletionTimestamp ?? '') + 1000 - clock.now()
      this.#stop(nextToStop(running), Math.max(0, Math.min(graceSeconds * 1000, leftMs)))
      return {}
    }
    this.#probes.stopAll()
    this.#release()
    await this.#services.remove(pod, signal)
    this.#removed = true
    return {}
  }

  /** Its processes are gone for good: others may have its cards and its address. */
  async #finish(plan: PodPlan, signal: AbortSignal): Promise<void> {
    await this.#services.runtime.stop(this.identity.uid, 0)
    await this.#writeStatus(plan, this.#memories(), signal)
    this.#done = true
    this.#release()
  }

  async #refuse(reason: string, message: string, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const status = refusedStatus(this.#pod, reason, message, this.#services.clock.now())
    if (!(await this.#services.writeStatus(this.#pod, status, signal))) return {}
    this.#services.event(this.#pod, 'Warning', reason, message)
    this.#done = true
    return {}
  }

  async #writeStatus(
    plan: Pick<PodPlan, 'phase' | 'initialized'>,
    memories: readonly ContainerMemory[],
    signal: AbortSignal,
  ): Promise<void> {
    const { network, hostIP, clock } = this.#services
    const before = this.#status ?? { startTime: timestamp(clock.now()) }
    const podIP = this.#nodeStopping ? undefined : network.of(this.identity.uid)?.address
    // What others say of the Pod is in the cluster's copy, what this node said last is in its own.
    const conditions = withForeignConditions(before.conditions ?? [], this.#pod.status?.conditions ?? [])
    const known = { ...this.#pod, status: { ...before, conditions } }
    const status = podStatus(known, plan, memories, { podIP, hostIP }, clock.now())
    if (JSON.stringify(status) !== JSON.stringify(this.#status)) {
      if (!(await this.#services.writeStatus(this.#pod, status, signal))) return
      this.#status = status
    }
    const told = memories.filter(({ state }) => state.type !== 'running').map(({ spec }) => spec.name)
    await this.#services.runtime.settle(this.identity.uid, told)
  }

  #change(name: string, change: (memory: ContainerMemory) => ContainerMemory): void {
    const memory = this.#containers.get(name)
    if (!memory) return
    this.#containers.set(name, change(memory))
    this.#services.wake()
  }

  #recall(pod: Pod, adopted: readonly RunningContainer[]): void {
    const { clock } = this.#services
    const unsettled = this.#services.runtime.unsettled(this.identity.uid)
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
    for (const [list, init] of [
      [pod.spec.initContainers ?? [], true],
      [pod.spec.containers, false],
    ] as const) {
      for (const spec of list) {
        const status = statuses.find(({ name }) => name === spec.name)
        const running = adopted.find(({ container }) => container === spec.name)
        if (!running) {
          const ended = unsettled.find(({ container }) => container === spec.name)
          this.#containers.set(spec.name, recalledMemory(spec, init, { status, ended }, clock.now()))
          continue
        }
        const memory = adoptedMemory(spec, init, status, running)
        this.#watch(running, memory)
        this.#probes.start(spec, running, memory)
      }
    }
  }

  #memories(): ContainerMemory[] {
    return [...this.#containers.values()]
  }

  #running(): string[] {
    return this.#runningNow().map(({ spec }) => spec.name)
  }

  #runningNow(): StoppableContainer[] {
    return this.#memories().flatMap(({ state, spec, init }) =>
      state.type === 'running' ? [{ spec, running: state.running, sidecar: init && isSidecar(spec) }] : [],
    )
  }

  #release(): void {
    this.#services.cards.release(this.identity.uid)
    this.#services.network.release(this.identity.uid)
    this.#services.roomFreed()
  }
}

/** Never at once: whatever comes of a step, everybody else has a turn before the next. */
function dueIn(dueAt: number | undefined, now: number): { requeueAfterMs?: number } {
  return dueAt === undefined || dueAt === Infinity ? {} : { requeueAfterMs: Math.max(1, dueAt - now) }
}
