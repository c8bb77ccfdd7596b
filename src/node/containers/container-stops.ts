import type { Clock } from '../../foundation/clock.ts'
import type { Container } from '../../resources/pod.ts'
import { runHandler } from './lifecycle-handler.ts'
import { containerParts } from '../pods/pod-parts.ts'
import type { PodRuntime, RunningContainer } from '../pod-runtime.ts'

export interface ContainerStopsOptions {
  readonly runtime: Pick<PodRuntime, 'exec' | 'stop'>
  readonly clock: Clock
  hookFailed(container: string, why: string): void
}

export interface StoppableContainer {
  readonly spec: Container
  readonly running: RunningContainer
  readonly sidecar: boolean
}

/** Which containers to stop next: first all that are no sidecars, then the sidecars one by one, last one first. */
export function nextToStop(running: readonly StoppableContainer[]): readonly StoppableContainer[] {
  const others = running.filter(({ sidecar }) => !sidecar)
  return others.length > 0 ? others : running.slice(-1)
}

interface Stopping {
  dueAt: number
  /** Ends the running hook; `undefined` when none runs. */
  endHook: (() => void) | undefined
  cancelTimer: () => void
  readonly done: Promise<void>
}

/** The least time a program gets after its hook, however long that took. */
const leastGraceMs = 2000

/** Stops containers as Kubernetes does: preStop hook, SIGTERM, SIGKILL, all within one grace period. */
export class ContainerStops {
  readonly #options: ContainerStopsOptions
  readonly #inHand = new Map<string, Stopping>()

  constructor(options: ContainerStopsOptions) {
    this.#options = options
  }

  /** Resolves when nothing of the container is left. A later call with a shorter grace shortens it. */
  stop(container: Container, running: RunningContainer, graceMs: number): Promise<void> {
    const { name } = container
    const dueAt = this.#options.clock.now() + graceMs
    const before = this.#inHand.get(name)
    if (before) {
      if (dueAt < before.dueAt) this.#shorten(before, running, graceMs)
      return before.done
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stopping: Stopping = { dueAt, endHook: undefined, cancelTimer: () => {}, done: promise }
    this.#inHand.set(name, stopping)
    this.#run(container, running, stopping)
      .finally(() => this.#inHand.delete(name))
      .then(resolve, reject)
    return promise
  }

  async #run(container: Container, running: RunningContainer, stopping: Stopping): Promise<void> {
    const { clock, runtime } = this.#options
    const { preStop } = containerParts(container).lifecycle
    let leastMs = 0
    if (preStop && stopping.dueAt > clock.now()) {
      const hook = new AbortController()
      stopping.endHook = () => hook.abort(new Error('the grace is over'))
      stopping.cancelTimer = clock.after(stopping.dueAt - clock.now(), stopping.endHook)
      // The program may end by itself while the hook runs.
      void running.exited.then(stopping.endHook)
      const problem = await runHandler(preStop, container, running, runtime, clock, hook.signal)
      stopping.cancelTimer()
      stopping.endHook = undefined
      if (problem !== undefined) this.#options.hookFailed(container.name, problem)
      if (stopping.dueAt > clock.now() || hook.signal.aborted) leastMs = leastGraceMs
    }
    const leftMs = stopping.dueAt - clock.now()
    const graceMs = stopping.dueAt <= 0 ? 0 : Math.max(leftMs, leastMs)
    await runtime.stop(running.podUid, Math.max(0, graceMs), container.name)
  }

  #shorten(stopping: Stopping, running: RunningContainer, graceMs: number): void {
    const { clock, runtime } = this.#options
    stopping.dueAt = graceMs <= 0 ? 0 : clock.now() + graceMs
    if (!stopping.endHook) {
      // The first call to `stop` already awaits the outcome.
      runtime.stop(running.podUid, graceMs, running.container).catch(() => {})
      return
    }
    stopping.cancelTimer()
    if (graceMs <= 0) stopping.endHook()
    else stopping.cancelTimer = clock.after(graceMs, stopping.endHook)
  }
}
