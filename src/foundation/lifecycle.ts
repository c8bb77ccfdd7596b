import { type Clock, systemClock } from './clock.ts'
import { SluiceError } from './errors.ts'
import type { Logger } from './log.ts'

export interface Component {
  readonly name: string
  start?(signal: AbortSignal): Promise<void> | void
  stop?(signal: AbortSignal): Promise<void> | void
}

export interface LifecycleOptions {
  readonly log: Logger
  readonly clock?: Clock
  readonly startDeadlineMs?: number
  readonly stopDeadlineMs?: number
}

/**
 * Starts components in the order in which they were added and stops them in reverse order. Each start and stop has a
 * deadline.
 */
export class Lifecycle {
  readonly #components: Component[] = []
  readonly #started: Component[] = []
  readonly #options: Required<LifecycleOptions>
  readonly #stopping = new AbortController()
  #stopped: Promise<void> | undefined

  constructor(options: LifecycleOptions) {
    this.#options = { clock: systemClock, startDeadlineMs: 60_000, stopDeadlineMs: 15_000, ...options }
  }

  add(component: Component): void {
    this.#components.push(component)
  }

  /** Starts all components. If one fails, those already started are stopped before the error is thrown. */
  async start(): Promise<void> {
    for (const component of this.#components) {
      if (this.#stopping.signal.aborted) return
      this.#started.push(component)
      const begunAt = this.#options.clock.now()
      try {
        await this.#bounded(component, 'start', this.#options.startDeadlineMs, (signal) => component.start?.(signal))
        this.#options.log.debug({ component: component.name, ms: this.#options.clock.now() - begunAt }, 'started')
      } catch (error) {
        await this.stop()
        throw error
      }
    }
  }

  /**
   * Stops the started components. Repeated calls stop them only once, and one that fails does not keep the others from
   * being stopped.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll(): Promise<void> {
    this.#stopping.abort(new SluiceError('stopping'))
    for (const component of this.#started.toReversed()) {
      try {
        await this.#bounded(component, 'stop', this.#options.stopDeadlineMs, (signal) => component.stop?.(signal))
      } catch (error) {
        this.#options.log.warn({ component: component.name, err: error }, 'component did not stop cleanly')
      }
    }
  }

  async #bounded(
    component: Component,
    phase: 'start' | 'stop',
    deadlineMs: number,
    act: (signal: AbortSignal) => Promise<void> | void,
  ): Promise<void> {
    const deadline = new AbortController()
    const signal = phase === 'start' ? AbortSignal.any([deadline.signal, this.#stopping.signal]) : deadline.signal
    let cancel = () => {}
    const overdue = new Promise<never>((_resolve, reject) => {
      cancel = this.#options.clock.after(deadlineMs, () => {
        const error = new SluiceError('lifecycle_deadline', {
          component: component.name,
          phase,
          seconds: deadlineMs / 1000,
        })
        deadline.abort(error)
        reject(error)
      })
    })
    try {
      await Promise.race([act(signal), overdue])
    } finally {
      cancel()
    }
  }
}
