import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import type { EventRecorder } from '../cluster/event-recorder.ts'
import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { AutoscalerMetrics } from './autoscaler-metrics.ts'
import { type ScaleDecision, decide } from './decide.ts'
import { DemandHistory } from './demand-history.ts'
import type { Demand } from './demand.ts'
import { historyMs, scaleSettings } from './scale-settings.ts'

const sampleEveryMs = 1_000
/** How long the cache may take to show what was written, before the cluster's word counts again. */
const trustWrittenMs = 10_000
const writeDeadlineMs = 10_000

export interface AutoscaleLoopOptions {
  readonly models: ObjectCache<Model>
  readonly client: Pick<ClusterClient, 'scale'>
  readonly demand: Demand
  readonly events: Pick<EventRecorder, 'record'>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** For Models without an annotation of their own. */
  readonly idleWindowMs: number
  /** How many replicas of a Model its kind of card has room for, when that is known. */
  readonly replicasThatFit?: (model: Model) => number | undefined
}

interface Watched {
  readonly history: DemandHistory
  /** What was written and has not come back through the cache yet. */
  written: { readonly replicas: number; readonly at: number } | undefined
  scaling: boolean
  /** Somebody asked while a change was being written: decide again right after it. */
  again: boolean
}

/** Samples demand every second, and at once for a first waiter; the only writer of a Model's replicas. */
export class AutoscaleLoop {
  readonly name = 'autoscaler'
  readonly #options: AutoscaleLoopOptions
  readonly #metrics: AutoscalerMetrics
  readonly #watched = new Map<string, Watched>()
  readonly #stopping = new AbortController()
  readonly #writes = new Set<Promise<void>>()
  readonly #unsubscribe: Array<() => void> = []
  #cancelTick: CancelTimer = () => {}

  constructor(options: AutoscaleLoopOptions) {
    this.#options = options
    this.#metrics = new AutoscalerMetrics(options.metrics)
  }

  start(): void {
    const { demand, models } = this.#options
    this.#unsubscribe.push(
      demand.onFirstWaiter((name) => this.#onFirstWaiter(name)),
      models.onChange(({ type, object }) => (type === 'deleted' ? this.#forget(object) : this.#onModel(object))),
    )
    this.#tick()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancelTick()
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe()
    await Promise.all(this.#writes)
  }

  #tick(): void {
    if (this.#stopping.signal.aborted) return
    this.#cancelTick = this.#options.clock.after(sampleEveryMs, () => this.#tick())
    if (!this.#options.models.synced) return
    for (const model of this.#options.models.list()) this.#consider(model)
  }

  #onFirstWaiter(name: string): void {
    if (this.#stopping.signal.aborted) return
    for (const model of this.#options.models.list()) if (model.metadata.name === name) this.#consider(model)
  }

  /** A Model that was just applied should not wait for the next tick to get its minimum. */
  #onModel(model: Model): void {
    const written = this.#watched.get(keyOf(refOf(model)))?.written
    if (written?.replicas === model.spec.replicas) this.#watchedOf(model).written = undefined
    if (!this.#stopping.signal.aborted && this.#options.models.synced) this.#consider(model)
  }

  #consider(model: Model): void {
    if (model.metadata.deletionTimestamp !== undefined) return
    const { clock, demand, idleWindowMs, replicasThatFit } = this.#options
    const now = clock.now()
    const watched = this.#watchedOf(model)
    const settings = scaleSettings(model, { idleWindowMs, replicasThatFit: replicasThatFit?.(model) })

    const reading = demand.sample(model.metadata.name)
    if (reading === undefined) watched.history.forget()
    else watched.history.record(now, reading, historyMs(settings), demand.lastActiveAt(model.metadata.name))
    this.#metrics.observe(model.metadata.name, reading)

    if (watched.scaling) {
      watched.again = true
      return
    }
    const current = this.#currentReplicas(model, watched, now)
    const decision = decide({ now, samples: watched.history.samples, settings, current })
    this.#metrics.replicas(model.metadata.name, decision === 'hold' ? current : decision.replicas)
    if (decision === 'hold' || decision.replicas === current) return
    const write = this.#scale(model, watched, current, decision).finally(() => this.#writes.delete(write))
    this.#writes.add(write)
  }

  #currentReplicas(model: Model, watched: Watched, now: number): number {
    if (watched.written && now - watched.written.at < trustWrittenMs) return watched.written.replicas
    return model.spec.replicas ?? model.spec.minReplicas
  }

  async #scale(model: Model, watched: Watched, current: number, decision: ScaleDecision): Promise<void> {
    const { client, clock, events, log } = this.#options
    const { replicas, reason, message } = decision
    watched.scaling = true
    watched.again = false
    const deadline = new AbortController()
    const cancelDeadline = clock.after(writeDeadlineMs, () => {
      deadline.abort(new Error(`the cluster did not take the new replicas in ${writeDeadlineMs} ms`))
    })
    try {
      const signal = AbortSignal.any([deadline.signal, this.#stopping.signal])
      await client.scale(modelKind, refOf(model), replicas, signal)
      watched.written = { replicas, at: clock.now() }
      this.#metrics.changed(model.metadata.name, reason)
      log.info({ model: model.metadata.name, from: current, to: replicas, reason, message }, 'scaled')
      events.record(model, 'Normal', reason, `Scaled from ${current} to ${replicas}: ${message}`)
    } catch (error) {
      if (this.#stopping.signal.aborted) return
      // The next sample decides again, a second from now.
      this.#metrics.failed(model.metadata.name)
      log.warn({ model: model.metadata.name, to: replicas, err: error }, 'scaling failed')
    } finally {
      cancelDeadline()
      watched.scaling = false
    }
    const latest = watched.again ? this.#options.models.get(refOf(model)) : undefined
    if (latest !== undefined && !this.#stopping.signal.aborted) this.#consider(latest)
  }

  #watchedOf(model: Model): Watched {
    const key = keyOf(refOf(model))
    let watched = this.#watched.get(key)
    if (watched === undefined) this.#watched.set(key, (watched = newlyWatched()))
    return watched
  }

  #forget(model: Model): void {
    this.#watched.delete(keyOf(refOf(model)))
    this.#metrics.forget(model.metadata.name)
  }
}

function newlyWatched(): Watched {
  return { history: new DemandHistory(), written: undefined, scaling: false, again: false }
}
