import { timestamp } from '../resources/kubernetes-object.ts'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import { type Pod, isPodFinished } from '../resources/pod.ts'
import type { CardLedger, PodCards } from './card-ledger.ts'
import { ContainerProbes } from './container-probes.ts'
import {
  type ContainerMemory,
  afterExit,
  afterRefusal,
  afterStart,
  attemptOf,
  freshMemory,
  recalledMemory,
} from './container-memory.ts'
import { holdFreeAddress } from './free-address.ts'
import type { PodAddresses } from './pod-addresses.ts'
import { type PodPlan, planPod } from './pod-plan.ts'
import { ContainerRefused, type PodIdentity, type PodRuntime, type RunningContainer } from './pod-runtime.ts'
import { type PodStatus, podStatus, refusedStatus } from './pod-status.ts'
import { unsupportedPart } from './unsupported-pod.ts'

export interface PodWorkerServices {
  readonly runtime: PodRuntime
  readonly clock: Clock
  readonly log: Logger
  readonly addresses: PodAddresses
  readonly cards: CardLedger
  readonly hostIP: string
  /** Said in events where cards are handed out that are only declared. */
  readonly simulatedCards: boolean
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void
  writeStatus(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<void>
  /** The Pod's processes are gone, so may it be. */
  remove(pod: Pod, signal: AbortSignal): Promise<void>
  /** Something happened: step again soon. */
  wake(): void
}

const resourceRetryMs = 500

/** Owns what one Pod is on this machine. Steps never overlap; exits and probes only note what happened and ask for a step. */
export class PodWorker {
  readonly identity: PodIdentity
  readonly #services: PodWorkerServices
  readonly #containers = new Map<string, ContainerMemory>()
  readonly #probes: ContainerProbes
  #pod: Pod
  #status: PodStatus | undefined
  #stopGraceSeconds: number | undefined
  #nodeStopping = false
  #removed = false
  /** Refused, succeeded or failed: nothing of it will run again. */
  #done: boolean
  #problem = ''

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
      change: (container, change) => this.#change(container, (memory) => ({ ...memory, ...change })),
      event: (type, reason, message) => services.event(this.#pod, type, reason, message),
      restart: (container, why) => this.#restart(container, why),
    })
    this.#recall(pod, adopted)
  }

  /** One step towards what the Pod asks for. Returns when the next is due, if nothing happens before. */
  async step(pod: Pod, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    this.#pod = pod
    if (this.#nodeStopping || this.#removed) return {}
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod, signal)
    if (this.#done && this.#running().length === 0) return {}
    const unsupported = unsupportedPart(pod)
    if (unsupported !== undefined) return this.#refuse('UnsupportedPod', unsupported, signal)
    return this.#run(signal)
  }

  /** The Pod's object is gone: nothing waits for its processes any more. */
  async vanish(): Promise<void> {
    this.#removed = true
    this.#probes.stopAll()
    await this.#services.runtime.stop(this.identity.uid, 0)
    this.#release()
    await this.#services.runtime.forget(this.identity)
  }

  /** The node stops: the processes end, and the Pod is left so that the next start of the node runs it again. */
  async leave(graceMs: number, signal: AbortSignal): Promise<void> {
    this.#nodeStopping = true
    this.#probes.stopAll()
    await this.#services.runtime.stop(this.identity.uid, graceMs)
    if (this.#removed || this.#done) return
    if (this.#pod.metadata.deletionTimestamp !== undefined) return this.#services.remove(this.#pod, signal)
    const waiting = {
      type: 'waiting',
      reason: 'NodeStopped',
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
    const { clock, addresses, cards } = this.#services
    const ports = this.#pod.spec.containers.flatMap((container) =>
      (container.ports ?? []).map(({ containerPort }) => containerPort),
    )
    const held = await holdFreeAddress(addresses, this.identity.uid, ports)
    const granted = cards.take(this.#pod)
    if ('refused' in held || 'missing' in granted) {
      const problem = 'refused' in held ? held.refused : 'missing' in granted ? granted.missing : ''
      if (problem !== this.#problem) this.#services.event(this.#pod, 'Warning', 'FailedCreatePodSandBox', problem)
      this.#problem = problem
      await this.#writeStatus({ phase: 'Pending', initialized: false }, this.#memories(), signal)
      return { requeueAfterMs: resourceRetryMs }
    }
    const plan = planPod(this.#pod.spec.restartPolicy, this.#memories(), clock.now())
    for (const name of plan.start) await this.#start(name, held.address, granted, signal)
    const next = planPod(this.#pod.spec.restartPolicy, this.#memories(), clock.now())
    if (next.phase === 'Succeeded' || next.phase === 'Failed') await this.#finish(next, signal)
    else await this.#writeStatus(next, this.#memories(), signal)
    return next.wakeAt === undefined ? {} : { requeueAfterMs: next.wakeAt - clock.now() }
  }

  async #start(name: string, podIP: string, granted: PodCards, signal: AbortSignal): Promise<void> {
    const { runtime, clock } = this.#services
    const memory = this.#containers.get(name)
    if (!memory) return
    const { spec: container } = memory
    const cards = granted.get(name) ?? []
    try {
      const running = await runtime.start(
        { pod: this.#pod, container, attempt: attemptOf(memory), podIP, cards },
        signal,
      )
      const image = `Container image "${container.image}" is a program of this machine`
      this.#services.event(this.#pod, 'Normal', 'Pulled', image)
      this.#services.event(this.#pod, 'Normal', 'Created', `Created container: ${name}`)
      const ofCards =
        cards.length > 0 ? ` with ${this.#services.simulatedCards ? 'simulated ' : ''}cards ${cards.join(', ')}` : ''
      this.#services.event(
        this.#pod,
        'Normal',
        'Started',
        `Started container ${name} as process ${running.pid} on ${podIP}${ofCards}`,
      )
      this.#watch(running, afterStart(memory, running))
    } catch (error) {
      if (signal.aborted) throw error
      const reason = error instanceof ContainerRefused ? error.reason : 'RunContainerError'
      this.#services.event(this.#pod, 'Warning', 'Failed', `Error: ${errorMessage(error)}`)
      this.#containers.set(name, afterRefusal(memory, reason, errorMessage(error), clock.now()))
    }
  }

  #watch(running: RunningContainer, memory: ContainerMemory): void {
    const name = running.container
    this.#containers.set(name, memory)
    this.#probes.start(memory.spec, running, memory)
    void running.exited.then((exit) => {
      this.#probes.stop(name)
      const { clock } = this.#services
      this.#change(name, (current) =>
        afterExit({ ...current, state: { type: 'exited', exit, startedAt: running.startedAt } }, clock.now()),
      )
      const delay = this.#containers.get(name)?.backoff.delayMs ?? 0
      if (delay > 0 && this.#stopGraceSeconds === undefined) {
        const message = `Back-off ${delay / 1000}s restarting failed container ${name} (exit code ${exit.exitCode})`
        this.#services.event(this.#pod, 'Warning', 'BackOff', message)
      }
    })
  }

  #restart(container: string, why: string): void {
    if (this.#nodeStopping || this.#removed || this.#stopGraceSeconds !== undefined) return
    const { runtime, log } = this.#services
    this.#services.event(this.#pod, 'Normal', 'Killing', `Container ${container} ${why}, will be restarted`)
    const graceMs = this.#pod.spec.terminationGracePeriodSeconds * 1000
    runtime
      .stop(this.identity.uid, graceMs, container)
      .catch((error: unknown) => log.error({ err: error }, 'stop failed'))
  }

  async #terminate(pod: Pod, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { runtime, clock, log } = this.#services
    const graceSeconds = pod.metadata.deletionGracePeriodSeconds ?? 0
    const running = this.#running()
    if (running.length > 0) {
      if (this.#stopGraceSeconds === undefined || graceSeconds < this.#stopGraceSeconds) {
        if (this.#stopGraceSeconds === undefined) {
          for (const name of running) this.#services.event(pod, 'Normal', 'Killing', `Stopping container ${name}`)
        }
        this.#stopGraceSeconds = graceSeconds
        // After a restart of the node, part of the grace is already over. Times are in whole seconds.
        const leftMs = Date.parse(pod.metadata.deletionTimestamp ?? '') + 1000 - clock.now()
        const graceMs = Math.max(0, Math.min(graceSeconds * 1000, leftMs))
        runtime.stop(this.identity.uid, graceMs).then(
          () => this.#services.wake(),
          (error: unknown) => log.error({ err: error }, 'stop failed'),
        )
      }
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
    await this.#services.writeStatus(
      this.#pod,
      refusedStatus(this.#pod, reason, message, this.#services.clock.now()),
      signal,
    )
    this.#services.event(this.#pod, 'Warning', reason, message)
    this.#done = true
    return {}
  }

  async #writeStatus(
    plan: Pick<PodPlan, 'phase' | 'initialized'>,
    memories: readonly ContainerMemory[],
    signal: AbortSignal,
  ): Promise<void> {
    const { addresses, hostIP, clock } = this.#services
    const before = this.#status ?? { startTime: timestamp(clock.now()) }
    const podIP = this.#nodeStopping ? undefined : addresses.of(this.identity.uid)
    const status = podStatus({ ...this.#pod, status: before }, plan, memories, { podIP, hostIP }, clock.now())
    if (JSON.stringify(status) === JSON.stringify(this.#status)) return
    await this.#services.writeStatus(this.#pod, status, signal)
    this.#status = status
  }

  #change(name: string, change: (memory: ContainerMemory) => ContainerMemory): void {
    const memory = this.#containers.get(name)
    if (!memory) return
    this.#containers.set(name, change(memory))
    this.#services.wake()
  }

  #recall(pod: Pod, adopted: readonly RunningContainer[]): void {
    const { clock } = this.#services
    const statuses = pod.status?.containerStatuses ?? []
    for (const [list, init] of [
      [pod.spec.initContainers ?? [], true],
      [pod.spec.containers, false],
    ] as const) {
      for (const spec of list) {
        const status = statuses.find(({ name }) => name === spec.name)
        const running = adopted.find(({ container }) => container === spec.name)
        if (!running) {
          this.#containers.set(spec.name, recalledMemory(spec, init, status, clock.now()))
          continue
        }
        // As it was before this program was restarted; the probes correct it if that is no longer true.
        const { ready = false, started = false } = status ?? {}
        this.#watch(running, { ...afterStart(freshMemory(spec, init), running), ...(status && { ready, started }) })
      }
    }
  }

  #memories(): ContainerMemory[] {
    return [...this.#containers.values()]
  }

  #running(): string[] {
    return this.#memories().flatMap(({ state, spec }) => (state.type === 'running' ? [spec.name] : []))
  }

  #release(): void {
    this.#services.cards.release(this.identity.uid)
    this.#services.addresses.release(this.identity.uid)
  }
}
