import type { ObjectCache } from '../cluster/informer.ts'
import { abortReason, type Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { engineKeysName } from '../resources/engine-keys.ts'
import { modelLabel } from '../resources/model-labels.ts'
import { controllingModel, modelOfPod } from '../resources/model-ownership.ts'
import type { Model } from '../resources/model.ts'
import { isPodTerminating, type Pod } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'
import type { Demand, DemandReading } from './demand.ts'
import type { EndpointPool } from './endpoint-pool.ts'
import { type EndpointProbe, probeHealth } from './probing/endpoint-probe.ts'
import { EndpointProber, type ProbedFor } from './probing/endpoint-prober.ts'
import { type LoadPlace, LoadTable } from './endpoints/load-table.ts'
import type { OfferedEndpoint } from './endpoints/offered-endpoint.ts'
import { startFailureOf, whyAsleep } from './waiting/model-reason.ts'
import { type SeatEvents, type SeatHint, type OwnedSeat, ModelSeats } from './waiting/model-seats.ts'
import { endpointOf } from './endpoints/pod-endpoint.ts'
import { TrafficMetrics } from './traffic-metrics.ts'
import { defaultTrafficSettings, type TrafficSettings } from './traffic-settings.ts'

export interface PodPoolOptions {
  readonly namespace: string
  readonly pods: ObjectCache<Pod>
  readonly models: ObjectCache<Model>
  /** The Secrets with the engines' keys. A Pod whose key is missing gets no requests. */
  readonly secrets?: ObjectCache<Secret> | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics
  /** The counts of requests, shared with other threads; without it this is the only thread. */
  readonly loads?: LoadTable
  readonly probe?: EndpointProbe
  readonly settings?: Partial<TrafficSettings>
}

/**
 * The pool of one namespace's Models, in the main thread: it follows their Pods, hands out seats, holds whoever waits,
 * and reports demand.
 */
export class PodPool implements EndpointPool, Demand {
  readonly #options: PodPoolOptions
  readonly #settings: TrafficSettings
  readonly #metrics: TrafficMetrics
  readonly #loads: LoadTable
  readonly #seats = new Map<string, ModelSeats>()
  /** The model that each Pod served when it was last seen, so that it can be removed when that changes. */
  readonly #modelOfPod = new Map<string, string>()
  /** The names of Pods, by the Model they claim as their owner. */
  readonly #claims = new Map<string, Set<string>>()
  readonly #prober: EndpointProber
  readonly #firstWaiterListeners = new Set<(model: string) => void>()
  readonly #openListeners = new Set<(model: string) => void>()
  readonly #stopping = new AbortController()
  readonly #unsubscribe: ReadonlyArray<() => void>

  constructor(options: PodPoolOptions) {
    this.#options = options
    this.#settings = { ...defaultTrafficSettings, ...options.settings }
    this.#metrics = new TrafficMetrics(options.metrics, () => this.#seats)
    this.#loads = options.loads ?? LoadTable.shared({ workers: 0, epochMs: 0 })
    this.#prober = new EndpointProber({
      clock: options.clock,
      log: options.log,
      probe: options.probe ?? probeHealth,
      probeTimeoutMs: this.#settings.probeTimeoutMs,
      signal: this.#stopping.signal,
    })
    this.#unsubscribe = [
      options.pods.onChange(({ type, object, previous }) => {
        if (previous) this.#forgetClaim(previous)
        if (type !== 'deleted') return this.#podSeen(object)
        this.#forgetClaim(object)
        this.#podGone(object)
      }),
      options.models.onChange(({ type, object, previous }) =>
        type === 'deleted' ? this.#modelGone(object) : this.#modelSeen(object, previous),
      ),
      options.secrets?.onChange(({ object }) => this.#secretSeen(object)) ?? (() => {}),
    ]
    for (const pod of options.pods.list()) this.#podSeen(pod)
  }

  trySeat(model: string, hint: SeatHint): OwnedSeat | undefined {
    return this.#seats.get(model)?.trySeat(hint)
  }

  async reserve(model: string, hint: SeatHint, signal: AbortSignal): Promise<OwnedSeat> {
    if (signal.aborted) throw abortReason(signal)
    const seat = this.trySeat(model, hint)
    if (seat) return seat
    try {
      this.#refuseHopeless(model)
      return await this.#seatsOf(model).wait(hint, signal, () => this.#overdue(model))
    } catch (error) {
      // Only existing Models become labels: clients may ask for any name.
      if (error instanceof SluiceError && this.#modelOf(model)) this.#metrics.refused.inc({ model, code: error.code })
      throw error
    } finally {
      this.#forgetIfGone(model)
    }
  }

  sample(model: string): DemandReading | undefined {
    const { pods, models } = this.#options
    if (!pods.synced || !models.synced) return undefined
    const seats = this.#seats.get(model)
    return { active: seats?.active ?? 0, waiting: seats?.waiting ?? 0 }
  }

  models(): readonly string[] {
    return [...this.#seats.keys()]
  }

  lastActiveAt(model: string): number | undefined {
    return this.#seats.get(model)?.lastActiveAt
  }

  inFlightByEndpoint(model: string): ReadonlyMap<string, number> {
    return this.#seats.get(model)?.inFlightByEndpoint() ?? new Map<string, number>()
  }

  onFirstWaiter(callback: (model: string) => void): () => void {
    this.#firstWaiterListeners.add(callback)
    return () => this.#firstWaiterListeners.delete(callback)
  }

  /** The usable endpoints of a model. */
  openEndpoints(model: string): readonly OfferedEndpoint[] {
    return this.#seats.get(model)?.open ?? []
  }

  /** Calls back when the usable endpoints of a model changed; returns a function that unsubscribes. */
  onOpenChanged(callback: (model: string) => void): () => void {
    this.#openListeners.add(callback)
    return () => this.#openListeners.delete(callback)
  }

  /** A request in another thread found the endpoint failing. */
  reportFailed(model: string, place: LoadPlace): void {
    this.#seats.get(model)?.reportFailed(place)
    this.freed(model)
  }

  /** Requests of another thread left the model's endpoints. */
  freed(model: string): void {
    this.#seats.get(model)?.freed()
  }

  /** Another thread got the first byte of the answer to a request that had waited. */
  answered(model: string): void {
    this.#seats.get(model)?.answered()
  }

  /** The thread in this row died, and its requests with it. */
  rowLost(row: number): void {
    for (const seats of this.#seats.values()) seats.touch()
    this.#loads.clearRow(row)
    for (const seats of this.#seats.values()) seats.freed()
  }

  /** Refuses everybody who waits. Seats that were given out stay valid. */
  stop(): void {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort(new SluiceError('stopping'))
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    for (const seats of this.#seats.values()) seats.refuseWaiters(new SluiceError('stopping'))
  }

  #refuseHopeless(model: string): void {
    if (this.#stopping.signal.aborted) throw new SluiceError('stopping')
    const known = this.#modelOf(model)
    if (!known && this.#options.models.synced) throw new SluiceError('model_not_found', { model })
    const reason = known && startFailureOf(known)
    if (reason !== undefined) throw new SluiceError('model_unavailable', { model, reason })
  }

  #overdue(model: string): SluiceError {
    const seconds = Math.round(this.#settings.wakeDeadlineMs / 1000)
    if (this.#seats.get(model)?.awake) return new SluiceError('model_busy', { model, seconds })
    return new SluiceError('wake_deadline', { model, seconds, reason: whyAsleep(this.#modelOf(model)) })
  }

  #modelOf(name: string): Model | undefined {
    return this.#options.models.get({ namespace: this.#options.namespace, name })
  }

  #podSeen(pod: Pod): void {
    if (pod.metadata.namespace !== this.#options.namespace) return
    const { name } = pod.metadata
    this.#noteClaim(pod)
    const model = modelOfPod(pod, this.#options.models)
    const endpoint = model && endpointOf(pod, this.#keysOf(model.metadata.name))
    const before = this.#modelOfPod.get(name)
    if (before !== undefined && before !== endpoint?.model) this.#podGone(pod)
    if (model) this.#tellProgress(model.metadata.name, pod)
    if (!endpoint) return
    this.#modelOfPod.set(name, endpoint.model)
    this.#seatsOf(endpoint.model).offer(endpoint)
  }

  #tellProgress(model: string, pod: Pod): void {
    const { spec, status } = pod
    const seats = this.#seats.get(model)
    if (!seats?.waiting || isPodTerminating(pod)) return
    if (spec.nodeName) seats.reached('placed')
    if (status?.containerStatuses?.some(({ state }) => state?.running)) seats.reached('started')
  }

  /**
   * Notes which Model the Pod claims as its owner: that Model may be seen later, or be replaced by another of its name.
   */
  #noteClaim(pod: Pod): void {
    const claimed = controllingModel(pod)?.name
    if (claimed === undefined) return
    const pods = this.#claims.get(claimed)
    if (pods) pods.add(pod.metadata.name)
    else this.#claims.set(claimed, new Set([pod.metadata.name]))
  }

  #forgetClaim(pod: Pod): void {
    const claimed = controllingModel(pod)?.name ?? ''
    const pods = this.#claims.get(claimed)
    if (pods?.delete(pod.metadata.name) && pods.size === 0) this.#claims.delete(claimed)
  }

  #podGone({ metadata: { name, namespace } }: Pod): void {
    const model = this.#modelOfPod.get(name)
    if (model === undefined || namespace !== this.#options.namespace) return
    this.#modelOfPod.delete(name)
    this.#seats.get(model)?.withdraw(name)
    this.#forgetIfGone(model)
  }

  #secretSeen({ metadata: { name, namespace, labels } }: Secret): void {
    const model = labels?.[modelLabel]
    if (model !== undefined && namespace === this.#options.namespace && name === engineKeysName(model)) {
      this.#lookAgain(model)
    }
  }

  #keysOf(model: string): Secret | undefined {
    return this.#options.secrets?.get({ namespace: this.#options.namespace, name: engineKeysName(model) })
  }

  #modelSeen(model: Model, previous: Model | undefined): void {
    const { name, namespace, uid } = model.metadata
    if (namespace !== this.#options.namespace) return
    if (previous?.metadata.uid !== uid) this.#lookAgain(name)
    const seats = this.#seats.get(name)
    if (!seats) return
    const reason = startFailureOf(model)
    if (reason !== undefined) seats.refuseWaiters(new SluiceError('model_unavailable', { model: name, reason }))
  }

  /** Looks again at the Pods that claim this Model as their owner. */
  #lookAgain(model: string): void {
    const { namespace, pods } = this.#options
    for (const name of this.#claims.get(model) ?? []) {
      const pod = pods.get({ namespace, name })
      if (pod) this.#podSeen(pod)
    }
  }

  #modelGone({ metadata: { name, namespace } }: Model): void {
    if (namespace !== this.#options.namespace) return
    this.#seats.get(name)?.refuseWaiters(new SluiceError('model_not_found', { model: name }))
    this.#forgetIfGone(name)
  }

  #seatsOf(model: string): ModelSeats {
    const known = this.#seats.get(model)
    if (known) return known
    const by: ProbedFor = {
      model,
      awaited: () => seats.waiting > 0,
      healthy: (endpoint) => {
        const wasFailed = endpoint.state === 'failed'
        if (wasFailed) this.#options.log.info({ model, endpoint: endpoint.name }, 'the endpoint is healthy again')
        seats.recover(endpoint)
      },
    }
    const events: SeatEvents = {
      firstWaiter: (asleep) => this.#announceFirstWaiter(model, asleep),
      admitted: (waitedMs) => this.#metrics.waitSeconds.observe({ model }, waitedMs / 1000),
      wakeReached: (phase, ms) => this.#metrics.wakeSeconds.observe({ model, phase }, ms / 1000),
      needsProbe: (endpoint) => this.#prober.watch(endpoint, by),
      endpointFailed: (endpoint) => {
        this.#metrics.endpointFailures.inc({ model })
        const message = 'an endpoint failed; it is probed before it is used again'
        this.#options.log.warn({ model, endpoint: endpoint.name }, message)
      },
      openChanged: () => {
        for (const listener of this.#openListeners) listener(model)
      },
      leftOut: (endpoint) => {
        this.#options.log.error({ model, endpoint }, 'there are too many endpoints; this one is left out')
      },
      emptied: () => {
        if (this.#seats.get(model) === seats) this.#forgetIfGone(model)
      },
    }
    const { clock } = this.#options
    const seats = new ModelSeats({ model, settings: this.#settings, clock, loads: this.#loads, events })
    this.#seats.set(model, seats)
    return seats
  }

  /** Forgets a Model that was deleted, once its last seat is released. */
  #forgetIfGone(model: string): void {
    if (!this.#seats.get(model)?.isEmpty || this.#modelOf(model)) return
    this.#seats.delete(model)
    this.#metrics.forget(model)
  }

  #announceFirstWaiter(model: string, asleep: boolean): void {
    if (asleep) this.#metrics.wakes.inc({ model })
    for (const listener of this.#firstWaiterListeners) {
      try {
        listener(model)
      } catch (error) {
        this.#options.log.error({ model, err: error }, 'a listener for first waiters failed')
      }
    }
  }
}
