import { backoffMs } from '../cluster/pace/backoff.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ComingReplicas, Foresee, TakeBack } from '../cluster/foreseen.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import type { EventRecorder } from '../cluster/event-recorder.ts'
import type { CancelTimer, Clock } from '../foundation/clock.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { AutoscalerMetrics } from './autoscaler-metrics.ts'
import { type Cards, replicasThatFit } from './cards.ts'
import { type ScaleDecision, decide, sleepsAt } from './decide.ts'
import { DemandHistory } from './demand-history.ts'
import type { Demand, DemandReading } from './demand.ts'
import { historyMs, scaleSettings } from './scale-settings.ts'
import { type CardHolder, takeCards } from './take-cards.ts'

const sampleEveryMs = 1_000
/** How long the cache may take to show what was written, before it is believed again. */
const trustWrittenMs = 10_000
const writeDeadlineMs = 10_000
/**
 * A refused change is tried again with the next sample, because somebody may wait for it, and then less and less often,
 * like everything else that fails.
 */
const retryLimits = { firstMs: 500, longestMs: 60_000 }

/** Begins with what follows from more replicas before they are written. */
export interface ReplicaForesight {
  readonly replicas: Foresee<ComingReplicas>
  /** Resolves when it is time to write them, after what was begun for them. */
  lastCall(coming: ComingReplicas): Promise<void>
}

export interface AutoscaleLoopOptions {
  readonly models: ObjectCache<Model>
  /** The namespace of the Models whose demand is known. For others only the limits are enforced. */
  readonly namespace: string
  readonly client: Pick<ClusterClient, 'scale'>
  readonly demand: Demand
  readonly events: Pick<EventRecorder, 'record'>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** For Models without an annotation of their own. */
  readonly idleWindowMs: number
  /** Without it, there is room for everything. */
  readonly cards?: Cards | undefined
  /** Lets Pods be created before more replicas are written and seen. */
  readonly foresight?: ReplicaForesight | undefined
  /** Whether a Model that somebody waits for may take the cards of an idle one. */
  readonly takeIdleCards?: boolean
  readonly random?: () => number
}

interface Watched {
  readonly history: DemandHistory
  /** What was written and is not in the cache yet. */
  written: { readonly replicas: number; readonly at: number } | undefined
  scaling: boolean
  /** What the cache showed last. */
  seenReplicas: number | undefined
  /** Somebody asked while a change was being written: decide again right after it. */
  again: boolean
  /** Whether the last reading was partial: what happened meanwhile is only known in part. */
  wasPartial: boolean
  /** Refused writes in a row, and when the next one may be tried. */
  failures: number
  retryAt: number | undefined
}

/** Samples demand every second, and at once for a first waiter. The only writer of a Model's replicas. */
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
    const model = this.#options.models.get({ namespace: this.#options.namespace, name })
    if (model) this.#consider(model)
  }

  /** A Model that was just applied should not wait for the next tick to get its minimum. */
  #onModel(model: Model): void {
    const watched = this.#watchedOf(model)
    const { seenReplicas, scaling, written } = watched
    const replicas = model.spec.replicas ?? 0
    if (written?.replicas === model.spec.replicas) watched.written = undefined
    // Somebody else asked for more, such as `sluice wake`: they are kept for a whole idle window from now on.
    else if (seenReplicas !== undefined && replicas > seenReplicas && !scaling) watched.history.forget()
    if (!this.#stopping.signal.aborted && this.#options.models.synced) this.#consider(model)
  }

  #consider(model: Model): void {
    if (model.metadata.deletionTimestamp !== undefined) return
    const { clock, idleWindowMs } = this.#options
    const now = clock.now()
    const watched = this.#watchedOf(model)
    watched.seenReplicas = model.spec.replicas ?? 0
    const settings = scaleSettings(model, { idleWindowMs })
    const reading = this.#sample(model, watched, historyMs(settings), now)

    if (watched.scaling) {
      watched.again = true
      return
    }
    const current = this.#currentReplicas(model, watched, now)
    const input = { now, samples: watched.history.samples, settings, current }
    const wish = heldDown(decide(input), current, reading)
    // Free room is only asked for when more is wanted, because it takes a look at every Pod.
    const isMore = wish !== 'hold' && wish.replicas > current
    const decision = isMore ? decide({ ...input, settings: { ...settings, replicasThatFit: this.#fit(model) } }) : wish
    this.#metrics.replicas(model.metadata.name, decision === 'hold' ? current : decision.replicas)
    this.#metrics.sleepsAt(model.metadata.name, sleepsAt(input))
    if (decision !== 'hold' && decision.replicas !== current) this.#change(model, watched, current, decision)
    if (reading !== undefined && reading.waiting > 0 && mayStart(model)) this.#takeCards(model, now)
  }

  #sample(model: Model, watched: Watched, keepMs: number, now: number): DemandReading | undefined {
    const { demand, namespace } = this.#options
    const { name } = model.metadata
    const reading = model.metadata.namespace === namespace ? demand.sample(name) : undefined
    const isPartial = reading?.isPartial === true
    // What was only known in part cannot be held against a model later: the window begins afresh.
    if (reading === undefined || (watched.wasPartial && !isPartial)) watched.history.forget()
    watched.wasPartial = isPartial
    if (reading) watched.history.record(now, reading, keepMs, demand.lastActiveAt(name))
    this.#metrics.observe(name, reading)
    return reading
  }

  #fit(model: Model): number | undefined {
    const need = this.#options.cards?.perReplica(model)
    return (
      need && this.#options.cards && replicasThatFit(keyOf(refOf(model)), need, this.#options.cards.holdings(need.kind))
    )
  }

  /** For a Model that somebody waits for and that has no card: takes those of the Models that were idle the longest. */
  #takeCards(model: Model, now: number): void {
    const { cards, takeIdleCards = true, models, events } = this.#options
    const need = takeIdleCards ? cards?.perReplica(model) : undefined
    if (!need || !cards) return
    const holdings = cards.holdings(need.kind)
    const holders = new Map<string, Model>()
    for (const key of holdings.heldBy.keys()) {
      const holder = models.get(parseKey(key))
      if (holder && holder.metadata.deletionTimestamp === undefined) holders.set(key, holder)
    }
    const described = [...holders].map(([key, holder]) => this.#describeHolder(key, holder, now))
    for (const { key, replicas, idleMs } of takeCards({
      key: keyOf(refOf(model)),
      need,
      holdings,
      holders: described,
    })) {
      const holder = holders.get(key)
      if (!holder) continue
      const { name } = model.metadata
      const message = `somebody waits for ${name}, which needs its cards; no request for ${Math.floor(idleMs / 1000)} s`
      const watched = this.#watchedOf(holder)
      const decision = { replicas, reason: 'CardTaken', message } as const
      if (!this.#change(holder, watched, this.#currentReplicas(holder, watched, now), decision)) continue
      events.record(model, 'Normal', 'TakesCard', `It gets cards of ${holder.metadata.name}, which is idle`)
    }
  }

  #describeHolder(key: string, model: Model, now: number): CardHolder {
    const { demand, namespace, cards } = this.#options
    const { metadata, spec } = model
    const watched = this.#watchedOf(model)
    const reading = metadata.namespace === namespace ? demand.sample(metadata.name) : undefined
    const isKnown = reading !== undefined && reading.isPartial !== true
    const isIdle = isKnown && reading.active + reading.waiting === 0 && !watched.scaling
    const since = demand.lastActiveAt(metadata.name) ?? watched.history.samples[0]?.at
    return {
      key,
      replicas: this.#currentReplicas(model, watched, now),
      minReplicas: spec.minReplicas,
      cardsPerReplica: cards?.perReplica(model)?.count ?? 1,
      idleMs: isIdle && since !== undefined ? now - since : undefined,
    }
  }

  /** False while a failed change is not to be tried again yet. */
  #change(model: Model, watched: Watched, current: number, decision: ScaleDecision): boolean {
    if (isPaced(watched, this.#options.clock.now())) return false
    const write = this.#scale(model, watched, current, decision).finally(() => this.#writes.delete(write))
    this.#writes.add(write)
    return true
  }

  #currentReplicas(model: Model, watched: Watched, now: number): number {
    const { written } = watched
    // In both directions: after the clock was set back, what was written must not count for ever.
    if (written && Math.abs(now - written.at) < trustWrittenMs) return written.replicas
    return model.spec.replicas ?? model.spec.minReplicas
  }

  async #scale(model: Model, watched: Watched, current: number, decision: ScaleDecision): Promise<void> {
    const { client, clock, events, log, foresight, random = Math.random } = this.#options
    const { replicas, reason, message } = decision
    watched.scaling = true
    watched.again = false
    const linked = linkSignals(this.#stopping.signal)
    const cancelDeadline = clock.after(writeDeadlineMs, () => {
      linked.abort(new Error(`the cluster did not take the new replicas in ${writeDeadlineMs} ms`))
    })
    let takeBack: TakeBack | undefined
    try {
      if (replicas > current && foresight) {
        const coming = { model: refOf(model), replicas }
        takeBack = foresight.replicas(coming)
        await foresight.lastCall(coming)
      }
      await client.scale(modelKind, refOf(model), replicas, linked.signal)
      watched.written = { replicas, at: clock.now() }
      watched.failures = 0
      watched.retryAt = undefined
      this.#metrics.changed(model.metadata.name, reason)
      log.info({ model: model.metadata.name, from: current, to: replicas, reason, message }, 'scaled')
      events.record(model, 'Normal', reason, `Scaled from ${current} to ${replicas}: ${message}`)
    } catch (error) {
      takeBack?.()
      if (this.#stopping.signal.aborted) return
      // The first sample after that decides again.
      watched.failures += 1
      watched.retryAt = clock.now() + (watched.failures > 1 ? backoffMs(watched.failures, random(), retryLimits) : 0)
      this.#metrics.failed(model.metadata.name)
      log.warn({ model: model.metadata.name, to: replicas, err: error }, 'scaling failed')
    } finally {
      cancelDeadline()
      linked.release()
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

/** Nobody gives up a card for a Model that cannot use it, nor for one of which that is not known yet. */
function mayStart({ metadata: { generation }, status }: Model): boolean {
  return status?.phase !== 'Failed' && status?.observedGeneration === generation
}

/** While demand is only known in part, there may be requests for what seems to be too much. */
function heldDown(
  wish: ScaleDecision | 'hold',
  current: number,
  reading: DemandReading | undefined,
): ScaleDecision | 'hold' {
  if (wish === 'hold' || wish.reason === 'LoweredToMaximum' || reading?.isPartial !== true) return wish
  return wish.replicas < current ? 'hold' : wish
}

/** A clock that was set back must not delay a Model longer than the longest wait. */
function isPaced({ retryAt }: Watched, now: number): boolean {
  return retryAt !== undefined && now < retryAt && retryAt - now <= retryLimits.longestMs
}

function newlyWatched(): Watched {
  return {
    history: new DemandHistory(),
    written: undefined,
    scaling: false,
    seenReplicas: undefined,
    again: false,
    wasPartial: false,
    failures: 0,
    retryAt: undefined,
  }
}

function parseKey(key: string): ObjectRef {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
