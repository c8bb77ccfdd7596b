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

/** Containers end before their sidecars, and those one after the other, the last one first. */
export function nextToStop(running: readonly StoppableContainer[]): readonly StoppableContainer[] {
  const others = running.filter(({ sidecar }) => !sidecar)
  return others.length > 0 ? others : running.slice(-1)
}

interface Stopping {
  dueAt: number
  /** Ends the hook now; undefined when none runs (any more). */
  endHook: (() => void) | undefined
  cancelTimer: () => void
  readonly done: Promise<void>
}

/** However long a hook took, the program itself gets this long after it. */
const leastGraceMs = 2000

/** Stops containers in good order: the preStop hook, then the request to end, then force; all within one grace. */
export class ContainerStops {
  readonly #options: ContainerStopsOptions
  readonly #inHand = new Map<string, Stopping>()

  constructor(options: ContainerStopsOptions) {
    this.#options = options
  }

  /** Resolves when nothing of it is left. Asked again with a shorter grace, it takes that one. */
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
      // The program may end by itself meanwhile.
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
      // What it resolves with is already awaited where the stop began.
      runtime.stop(running.podUid, graceMs, running.container).catch(() => {})
      return
    }
    stopping.cancelTimer()
    if (graceMs <= 0) stopping.endHook()
    else stopping.cancelTimer = clock.after(graceMs, stopping.endHook)
  }
}
