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
import { parseResourceProfile } from '../resources/model-references.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'
import { isStatusError } from '../resources/status-error.ts'
import { DrainTime } from './looks/drain-time.ts'
import { EngineKeyKeeper } from './keys/engine-key-keeper.ts'
import { builtInEngines } from './engines/built-in-engines.ts'
import { type EngineTable, resolveEngine } from './engines/engine.ts'
import { executePlan } from './execute-plan.ts'
import type { GroupRoom } from './groups/group-room.ts'
import { onNamesChange, tellOfNames } from './names/model-names.ts'
import { modelOwnFacts } from './names/model-own-facts.ts'
import { engineImage } from './model-pod.ts'
import { readyReason } from './model-status.ts'
import { NextLook } from './looks/next-look.ts'
import type { GivenUpStart, ModelFiles, OperatorFacts } from './operator-facts.ts'
import { PassingFacts } from './looks/passing-facts.ts'
import { takesKey } from './keys/plan-engine-keys.ts'
import { type PodPlan, hasEffects, onlyCreates, planPods } from './plan-pods.ts'
import { PodKnowledge } from './pod-knowledge.ts'
import { givenUpMs } from './pod-trouble.ts'
import { randomSuffix } from './random-suffix.ts'
import { type ProfileFacts, resolveProfile } from './resource-profile.ts'
import type { AskHealth } from './starts/health-answers.ts'
import { modelStarts } from './starts/model-starts.ts'
import type { ReadLogTail, StartWatch } from './starts/start-watch.ts'

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
  /** The engines that Models may name; by default those that are built in. */
  readonly engines?: EngineTable
  /** Without it, nothing is known of starts but how long they take. */
  readonly readLogTail?: ReadLogTail | undefined
  /** Without it, only logs tell how far a load is. */
  readonly askHealth?: AskHealth | undefined
  /** Why an image cannot run in this cluster; undefined when it can, or when only its node knows. */
  readonly imageUnavailable?: ((image: string) => string | undefined) | undefined
  /** Requests in flight at a Pod: 0 when there are none, undefined only when nobody knows. */
  busy(podName: string): number | undefined
  /** Where all Pods of a group are placed, or none. */
  readonly groupRoom?: GroupRoom | undefined
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
  /**
   * The cluster is not in this process: to look at it takes a round trip, which is spared where somebody waits and the
   * cache is known to show all of a Model's Pods.
   */
  readonly isRemote?: boolean
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
  readonly #starts: StartWatch | undefined
  readonly #knowledge: PodKnowledge | undefined
  readonly #nextLook = new NextLook()
  /** Replicas that are about to be written, for which Pods are created already. */
  readonly #foreseen: Foreseen<number>
  /** Models whose Pods the cluster refuses: its message, and until when it is not asked again. */
  readonly #refused = new Map<string, Refusal>()
  /** Models whose engine cannot start as they are, and until when it is not tried. */
  readonly #givenUp: PassingFacts<GivenUpStart>

  constructor(options: ModelControllerOptions) {
    this.#options = options
    this.#foreseen = new Foreseen(options.clock)
    this.#givenUp = new PassingFacts(options.clock, givenUpMs)
    this.#keys = new EngineKeyKeeper(options.client, options.secrets)
    this.#knowledge = options.isRemote ? new PodKnowledge({ ...options, modelOf: owningModel }) : undefined
    const { readLogTail } = options
    this.#starts = readLogTail && modelStarts({ ...options, readLogTail }, (pod) => this.#podNews(pod))
    this.#queue = new WorkQueue({
      name: 'models',
      reconcile: (ref, signal) => this.#nextLook.during(keyOf(ref), () => this.#reconcile(ref, signal)),
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
      pods.onChange(({ object }) => this.#podNews(object)),
      onNamesChange(models, (model) => this.#queue.add(model)),
      this.#options.onProfilesChange?.(() => this.#lookAtAll()) ?? (() => {}),
    ]
    try {
      this.#lookAtAll()
      await Promise.all([this.#queue.run(signal), this.#starts?.run(signal), this.#knowledge?.run(signal)])
    } finally {
      for (const stop of unsubscribe) stop()
      this.#foreseen.clear()
      this.#nextLook.end()
    }
  }

  #podNews(pod: Pod): void {
    const owner = owningModel(pod)
    if (owner) this.#queue.addAfter(owner, this.#options.podNewsMs ?? 0)
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

  /** Resolves when the next look at the Model has ended; asked for right after something was foreseen. */
  whenLooked(model: ObjectRef): Promise<void> {
    return this.#nextLook.of(keyOf(model))
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { models, pods, secrets } = this.#options
    if (!models.synced || !pods.synced || !secrets.synced) return { requeueAfterMs: unsyncedCheckMs }
    const key = keyOf(ref)
    const cached = models.get(ref)
    if (cached === undefined || cached.metadata.deletionTimestamp !== undefined) {
      this.#statusDueAt.delete(key)
      this.#refused.delete(key)
      this.#givenUp.forget(key)
      this.#foreseen.settle(key)
      this.#knowledge?.forget(ref)
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
      const isKnown = foreseen !== undefined && onlyCreates(plan) && this.#knowledge?.isComplete(ref)
      const live = isKnown ? { model: cached, pods: own } : await this.#readLive(cached, signal)
      if (live === undefined) return {}
      const isNews = live.model !== cached || !sameObjects(live.pods, own)
      model = withReplicas(live.model, foreseen)
      if (isNews) {
        facts = this.#facts(model, engineKey)
        plan = planPods(model, live.pods, facts)
        if (refusal) plan = this.#afterRefusal(model, live.pods, facts, { ...plan, create: [] }, refusal)
      }
      this.#knowledge?.doubt(ref)
      const { created, refused } = await executePlan(plan, model, this.#options, signal)
      this.#knowledge?.created(ref, created)
      if (refused !== undefined) {
        const { generation } = model.metadata
        const latest = { message: refused, generation, until: this.#options.clock.now() + refusedCheckMs }
        this.#refused.set(key, latest)
        plan = this.#afterRefusal(model, live.pods, facts, plan, latest)
      } else if (plan.create.length > 0) this.#refused.delete(key)
    }
    if (plan.givenUp) this.#givenUp.note(key, plan.givenUp)
    // The Model itself is about to be written; its status is written then.
    if (foreseen !== undefined) return {}
    const statusDueMs = this.#statusDueMs(key, model, plan)
    if (statusDueMs > 0) return { requeueAfterMs: Math.min(statusDueMs, plan.checkAgainMs ?? statusDueMs) }
    await this.#writeStatus(model, plan, signal)
    // The next Pods get a key of their own. Not while somebody waits for these.
    if (plan.status.phase !== 'Waking' && engineKey.id !== undefined) await this.#prepareKey(model, own, signal)
    const refusedMs = engineKey.refused === undefined ? Infinity : refusedCheckMs
    const againMs = Math.min(refusedMs, plan.checkAgainMs ?? Infinity, this.#givenUp.leftMs(key) ?? Infinity)
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
    const engine = resolveEngine(model.spec.engine, this.#options.engines ?? builtInEngines)
    if (engine === undefined || !takesKey(model, engine)) return {}
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
    const { clock, drainDeadlineMs = defaultDrainDeadlineMs, registry, version } = this.#options
    const now = clock.now()
    return {
      now,
      registry: registry(),
      version,
      ...modelOwnFacts(model, this.#options),
      profiles: this.#options.profiles(),
      engines: this.#options.engines,
      engineUnavailable: this.#imageUnavailable(model),
      podRefused: engineKey.refused,
      givenUp: this.#givenUp.get(keyOf(refOf(model))),
      engineKey: engineKey.id,
      drainDeadlineMs,
      // A Pod that was recalled and drains again starts afresh.
      drainingMs: ({ metadata: { uid, annotations } }) =>
        this.#drainTime.elapsedMs(`${uid} ${annotations?.[drainingAnnotation]}`, now),
      busy: (podName) => this.#options.busy(podName),
      groupRoom: this.#options.groupRoom,
      startProgress: (pod) => this.#starts?.progressOf(pod),
      loadSeconds: (pod) => this.#starts?.loadSecondsOf(pod),
      suffix: randomSuffix,
    }
  }

  #imageUnavailable(model: Model): string | undefined {
    const { imageUnavailable, engines, registry, version } = this.#options
    if (!imageUnavailable) return undefined
    const { profile } = parseResourceProfile(model.spec.resourceProfile)
    const image = engineImage(model, resolveProfile(profile, this.#options.profiles()), {
      registry: registry(),
      version,
      engines,
    })
    return image === undefined ? undefined : imageUnavailable(image)
  }

  async #readLive(cached: Model, signal: AbortSignal): Promise<{ model: Model; pods: readonly Pod[] } | undefined> {
    const { client } = this.#options
    const { namespace, name } = cached.metadata
    const [model, { items }] = await Promise.all([
      client.get(modelKind, refOf(cached), signal),
      client.list(podKind, { namespace, labels: { [modelLabel]: name } }, signal),
    ])
    if (model === undefined || model.metadata.deletionTimestamp !== undefined) return undefined
    this.#knowledge?.looked(refOf(cached), items)
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
    tellOfNames(events, model, status)
    const before = model.status?.phase
    const isSameFailure = status.phase !== 'Failed' || readyReason(model.status) === readyReason(status)
    if (before === status.phase && isSameFailure) return
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

function owningModel(pod: Pod): ObjectRef | undefined {
  const owner = pod.metadata.ownerReferences?.find(({ controller, kind }) => controller === true && kind === 'Model')
  return owner && { namespace: pod.metadata.namespace, name: owner.name }
}

function sameRef(left: ObjectRef | undefined, right: ObjectRef): boolean {
  return left?.name === right.name && left.namespace === right.namespace
}
