import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { EventRecorder } from '../cluster/event-recorder.ts'
import { type ComingReplicas, Foreseen, type TakeBack } from '../cluster/foreseen.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import { WorkQueue } from '../cluster/work-queue.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { drainingAnnotation, modelLabel } from '../resources/model-labels.ts'
import { parseModelUrl } from '../resources/model-references.ts'
import { type EngineName, type Model, modelKind } from '../resources/model.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'
import { isStatusError } from '../resources/status-error.ts'
import { DrainTime } from './drain-time.ts'
import { EngineKeyKeeper } from './engine-key-keeper.ts'
import { executePlan } from './execute-plan.ts'
import type { ModelFiles, OperatorFacts } from './operator-facts.ts'
import { bringsOwnKey } from './plan-engine-keys.ts'
import { type PodPlan, planPods } from './plan-pods.ts'
import type { ProfileFacts } from './resource-profile.ts'

export interface ModelControllerOptions {
  readonly client: ClusterClient
  readonly models: ObjectCache<Model>
  readonly pods: ObjectCache<Pod>
  /** The Secrets of the Models' namespace. */
  readonly secrets: ObjectCache<Secret>
  readonly events: Pick<EventRecorder, 'record'>
  readonly files: ModelFiles
  readonly clock: Clock
  readonly log: Logger
  /** Where the engines' images come from. */
  readonly registry: () => string
  readonly version: string
  /** Asked again for every plan, because nodes come and go. */
  profiles(): ProfileFacts
  /** Calls back when they are not what they were; returns how to stop that. */
  onProfilesChange?(callback: () => void): () => void
  /** Why an engine cannot run in this cluster; undefined when it can. */
  engineUnavailable?(engine: EngineName): string | undefined
  /** Requests in flight at a Pod: 0 when there are none, undefined only when nobody knows. */
  busy(podName: string): number | undefined
  readonly drainDeadlineMs?: number
  /**
   * How long the status of a waking Model may wait to be written: the next one replaces it, and writing it would slow
   * down the wake.
   */
  readonly wakingStatusMs?: number
  /**
   * How long a change of a Pod may wait to be looked at: most come from this controller itself, and others need the
   * time to start the process.
   */
  readonly podNewsMs?: number
}

interface Refusal {
  readonly message: string
  readonly generation: number | undefined
  readonly until: number
}

/** Neither is set: the Model brings a key of its own. */
interface EngineKeyFact {
  readonly id?: string | undefined
  /** Why there is no key. */
  readonly refused?: string | undefined
}

const defaultDrainDeadlineMs = 10 * 60_000
const unsyncedCheckMs = 100
/** How often a cluster that refuses a Model's Pods is asked again: a quota may have been raised. */
const refusedCheckMs = 30_000
const concurrency = 4

/** Keeps every Model's Pods and status as its plan says. One runs at a time per cluster. */
export class ModelController {
  readonly #options: ModelControllerOptions
  readonly #queue: WorkQueue
  /** When the status of a waking Model must be written at the latest. */
  readonly #statusDueAt = new Map<string, number>()
  readonly #keys: EngineKeyKeeper
  readonly #drainTime = new DrainTime()
  /** Replicas that are about to be written, for which Pods are created already. */
  readonly #foreseen: Foreseen<number>
  /** Models whose Pods the cluster refuses: its message, and until when it is not asked again. */
  readonly #refused = new Map<string, Refusal>()

  constructor(options: ModelControllerOptions) {
    this.#options = options
    this.#foreseen = new Foreseen(options.clock)
    this.#keys = new EngineKeyKeeper(options.client, options.secrets)
    this.#queue = new WorkQueue({
      name: 'models',
      reconcile: (ref, signal) => this.#reconcile(ref, signal),
      clock: options.clock,
      log: options.log,
      concurrency,
    })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { models, pods, podNewsMs = 0 } = this.#options
    const unsubscribe = [
      models.onChange(({ object, previous }) => {
        const ref = refOf(object)
        const hasReplicas = previous === undefined || previous.spec.replicas !== object.spec.replicas
        const foreseen = hasReplicas ? this.#foreseen.settle(keyOf(ref)) : undefined
        const isNews = foreseen === undefined || foreseen !== object.spec.replicas
        this.#queue.addAfter(ref, isNews ? 0 : podNewsMs)
      }),
      pods.onChange(({ object }) => {
        const owner = owningModel(object)
        if (owner) this.#queue.addAfter(owner, podNewsMs)
      }),
      this.#options.onProfilesChange?.(() => this.#lookAtAll()) ?? (() => {}),
    ]
    try {
      this.#lookAtAll()
      await this.#queue.run(signal)
    } finally {
      for (const stop of unsubscribe) stop()
      this.#foreseen.clear()
    }
  }

  #lookAtAll(): void {
    for (const model of this.#options.models.list()) this.#queue.add(refOf(model))
  }

  /** The Model is about to get more replicas: its Pods are created at once, so that both become durable together. */
  foresee({ model, replicas }: ComingReplicas): TakeBack {
    // When it is taken back, the next look at the Model finds Pods that it does not want.
    const takeBack = this.#foreseen.add(keyOf(model), replicas, () => this.#queue.add(model))
    this.#queue.addAtOnce(model)
    return takeBack
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { models, pods, secrets } = this.#options
    if (!models.synced || !pods.synced || !secrets.synced) return { requeueAfterMs: unsyncedCheckMs }
    const key = keyOf(ref)
    const cached = models.get(ref)
    if (cached === undefined || cached.metadata.deletionTimestamp !== undefined) {
      this.#statusDueAt.delete(key)
      this.#refused.delete(key)
      this.#foreseen.settle(key)
      return {}
    }
    const foreseen = this.#foreseenFor(key, cached)
    const refusal = foreseen === undefined ? this.#refusalOf(key, cached) : undefined
    let model = withReplicas(cached, foreseen)
    const own = pods.list().filter((pod) => sameRef(owningModel(pod), refOf(cached)))
    const keyed = this.#engineKey(cached, own, signal)
    const engineKey = keyed instanceof Promise ? await keyed : keyed
    let facts = this.#facts(model, engineKey)
    let plan = planPods(model, own, facts)
    if (refusal) plan = this.#afterRefusal(model, own, facts, { ...plan, create: [] }, refusal)
    if (hasEffects(plan)) {
      // The cache may not show yet what the last round did; acting on it would do it twice.
      const live = await this.#readLive(cached, signal)
      if (live === undefined) return {}
      const isNews = live.model !== cached || !sameObjects(live.pods, own)
      model = withReplicas(live.model, foreseen)
      if (isNews) {
        facts = this.#facts(model, engineKey)
        plan = planPods(model, live.pods, facts)
        if (refusal) plan = this.#afterRefusal(model, live.pods, facts, { ...plan, create: [] }, refusal)
      }
      const { refused } = await executePlan(plan, model, this.#options, signal)
      if (refused !== undefined) {
        const { generation } = model.metadata
        const latest = { message: refused, generation, until: this.#options.clock.now() + refusedCheckMs }
        this.#refused.set(key, latest)
        plan = this.#afterRefusal(model, live.pods, facts, plan, latest)
      } else if (plan.create.length > 0) this.#refused.delete(key)
    }
    // The Model itself is about to be written; its status is written then.
    if (foreseen !== undefined) return {}
    const statusDueMs = this.#statusDueMs(key, model, plan)
    if (statusDueMs > 0) return { requeueAfterMs: Math.min(statusDueMs, plan.checkAgainMs ?? statusDueMs) }
    await this.#writeStatus(model, plan, signal)
    // The next Pods get a key of their own. Not while somebody waits for these.
    if (plan.status.phase !== 'Waking' && engineKey.id !== undefined) await this.#prepareKey(model, own, signal)
    const refusedMs = engineKey.refused === undefined ? Infinity : refusedCheckMs
    const againMs = Math.min(refusedMs, plan.checkAgainMs ?? Infinity)
    return againMs === Infinity ? {} : { requeueAfterMs: againMs }
  }

  /** The replicas that are about to be written to the Model, as long as it does not have as many. */
  #foreseenFor(key: string, model: Model): number | undefined {
    const foreseen = this.#foreseen.get(key)
    if (foreseen !== undefined && foreseen > replicasOf(model)) return foreseen
    this.#foreseen.settle(key)
    return undefined
  }

  /** Synchronous if there is a key, which is nearly always: somebody may wait for the Pod. */
  #engineKey(model: Model, pods: readonly Pod[], signal: AbortSignal): EngineKeyFact | Promise<EngineKeyFact> {
    if (bringsOwnKey(model)) return {}
    const id = this.#keys.newest(model)
    return id === undefined ? this.#firstKey(model, pods, signal) : { id }
  }

  async #firstKey(model: Model, pods: readonly Pod[], signal: AbortSignal): Promise<EngineKeyFact> {
    try {
      return { id: await this.#keys.prepare(model, pods, signal) }
    } catch (error) {
      // If the cluster refuses the Secret, no engine is started: without a key anybody could use it.
      if (isStatusError(error, 'Forbidden', 'Invalid')) return { refused: error.message }
      throw error
    }
  }

  async #prepareKey(model: Model, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    try {
      await this.#keys.prepare(model, pods, signal)
    } catch (error) {
      // The cache was behind: there is a key, and the next look finds it.
      if (!isStatusError(error, 'Conflict', 'AlreadyExists', 'NotFound', 'Forbidden', 'Invalid')) throw error
    }
  }

  /**
   * Only a change of the Model's spec is a reason to ask sooner: reporting the refusal changes its status each time.
   */
  #refusalOf(key: string, { metadata: { generation } }: Model): Refusal | undefined {
    const refusal = this.#refused.get(key)
    const leftMs = refusal ? refusal.until - this.#options.clock.now() : 0
    return refusal?.generation === generation && leftMs > 0 && leftMs <= refusedCheckMs ? refusal : undefined
  }

  #afterRefusal(model: Model, pods: readonly Pod[], facts: OperatorFacts, plan: PodPlan, refusal: Refusal): PodPlan {
    const { status } = planPods(model, pods, { ...facts, podRefused: refusal.message })
    const leftMs = Math.max(1, refusal.until - facts.now)
    return { ...plan, status, checkAgainMs: Math.min(leftMs, plan.checkAgainMs ?? leftMs) }
  }

  #statusDueMs(key: string, model: Model, { status }: PodPlan): number {
    const { clock, wakingStatusMs = 0 } = this.#options
    if (status.phase !== 'Waking' || isDeepStrictEqual(model.status, status)) {
      this.#statusDueAt.delete(key)
      return 0
    }
    const dueAt = this.#statusDueAt.get(key) ?? clock.now() + wakingStatusMs
    const waitMs = dueAt - clock.now()
    // Longer than allowed only if the clock was set back.
    const isDue = waitMs <= 0 || waitMs > wakingStatusMs
    if (isDue) this.#statusDueAt.delete(key)
    else this.#statusDueAt.set(key, dueAt)
    return isDue ? 0 : waitMs
  }

  #facts(model: Model, engineKey: EngineKeyFact): OperatorFacts {
    const { clock, drainDeadlineMs = defaultDrainDeadlineMs, files, registry, version } = this.#options
    const { claim, path } = parseModelUrl(model.spec.url)
    const now = clock.now()
    return {
      now,
      registry: registry(),
      version,
      files: files.check(claim, path),
      profiles: this.#options.profiles(),
      engineUnavailable: this.#options.engineUnavailable?.(model.spec.engine),
      podRefused: engineKey.refused,
      engineKey: engineKey.id,
      drainDeadlineMs,
      // A Pod that was recalled and drains again starts afresh.
      drainingMs: ({ metadata: { uid, annotations } }) =>
        this.#drainTime.elapsedMs(`${uid} ${annotations?.[drainingAnnotation]}`, now),
      busy: (podName) => this.#options.busy(podName),
      suffix: randomSuffix,
    }
  }

  async #readLive(cached: Model, signal: AbortSignal): Promise<{ model: Model; pods: readonly Pod[] } | undefined> {
    const { client } = this.#options
    const model = await client.get(modelKind, refOf(cached), signal)
    if (model === undefined || model.metadata.deletionTimestamp !== undefined) return undefined
    const { namespace, name } = model.metadata
    const { items } = await client.list(podKind, { namespace, labels: { [modelLabel]: name } }, signal)
    return { model, pods: items }
  }

  async #writeStatus(model: Model, { status }: PodPlan, signal: AbortSignal): Promise<void> {
    if (isDeepStrictEqual(model.status, status)) return
    const { client, events, log } = this.#options
    try {
      await client.updateStatus(modelKind, { ...model, status }, signal)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return
      throw error
    }
    const before = model.status?.phase
    if (before === status.phase) return
    const { name } = model.metadata
    log.info({ model: name, from: before, to: status.phase, message: status.message }, 'model changed phase')
    const type = status.phase === 'Failed' ? 'Warning' : 'Normal'
    events.record(model, type, status.phase ?? 'Unknown', status.message ?? '')
  }
}

function withReplicas(model: Model, replicas: number | undefined): Model {
  if (replicas === undefined || replicas <= replicasOf(model)) return model
  return { ...model, spec: { ...model.spec, replicas } }
}

function replicasOf({ spec }: Model): number {
  return spec.replicas ?? spec.minReplicas
}

/** The embedded cluster returns the stored objects themselves, so they need not be compared by content. */
function sameObjects(left: readonly Pod[], right: readonly Pod[]): boolean {
  return left.length === right.length && left.every((pod) => right.includes(pod))
}

function hasEffects(plan: PodPlan): boolean {
  return plan.create.length + plan.recall.length + plan.drain.length + plan.delete.length > 0
}

function owningModel(pod: Pod): ObjectRef | undefined {
  const owner = pod.metadata.ownerReferences?.find(({ controller, kind }) => controller === true && kind === 'Model')
  return owner && { namespace: pod.metadata.namespace, name: owner.name }
}

function sameRef(left: ObjectRef | undefined, right: ObjectRef): boolean {
  return left?.name === right.name && left.namespace === right.namespace
}

/** No vowels and nothing that is easily confused, as in Kubernetes. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789'

function randomSuffix(): string {
  return Array.from(randomBytes(5), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join('')
}
