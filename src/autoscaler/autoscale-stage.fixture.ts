import type { ObjectCache, ObjectChange } from '../cluster/informer.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { ObjectRef } from '../resources/kubernetes-object.ts'
import { type Model, modelSchema } from '../resources/model.ts'
import { AutoscaleLoop, type AutoscaleLoopOptions } from './autoscale-loop.ts'
import type { Demand, DemandReading } from './demand.ts'

/** Models that a test puts there. */
export class ModelCache implements ObjectCache<Model> {
  readonly synced: boolean = true
  readonly #models = new Map<string, Model>()
  readonly #listeners = new Set<(change: ObjectChange<Model>) => void>()

  get(ref: ObjectRef): Model | undefined {
    return this.#models.get(ref.name)
  }
  list(): readonly Model[] {
    return [...this.#models.values()]
  }
  onChange(listener: (change: ObjectChange<Model>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  put(model: Model): void {
    this.#models.set(model.metadata.name, model)
    for (const listener of this.#listeners) listener({ type: 'updated', object: model })
  }
  remove(model: Model): void {
    this.#models.delete(model.metadata.name)
    for (const listener of this.#listeners) listener({ type: 'deleted', object: model })
  }
  get listeners(): number {
    return this.#listeners.size
  }
}

/** Demand that a test makes. */
export class FakeDemand implements Demand {
  readings: Record<string, DemandReading | undefined> = {}
  readonly callbacks = new Set<(model: string) => void>()

  lastActive: Record<string, number> = {}

  sample(model: string): DemandReading | undefined {
    return this.readings[model]
  }
  lastActiveAt(model: string): number | undefined {
    return this.lastActive[model]
  }
  onFirstWaiter(callback: (model: string) => void): () => void {
    this.callbacks.add(callback)
    return () => this.callbacks.delete(callback)
  }
  firstWaiter(model: string): void {
    this.readings[model] = { active: 0, waiting: 1 }
    for (const callback of this.callbacks) callback(model)
  }
}

export function modelNamed(
  name: string,
  spec: Record<string, unknown> = {},
  annotations: Record<string, string> = {},
): Model {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name, namespace: 'sluice', uid: `uid-${name}`, annotations },
    spec: { url: 'pvc://userdata/models/m', engine: 'LlamaCpp', scaleDownDelaySeconds: 30, ...spec },
  })
}

/** A clock that can be set, as an administrator or a time server does: timers do not notice. */
export class SettableClock extends FakeClock {
  offsetMs = 0

  override now(): number {
    return super.now() + this.offsetMs
  }
}

/** A cluster and its demand, which outlive the autoscalers that a test starts and stops. */
export class AutoscaleStage {
  readonly clock = new SettableClock()
  readonly models = new ModelCache()
  readonly demand = new FakeDemand()
  readonly scaled: Array<{ readonly name: string; readonly replicas: number; readonly at: number }> = []
  readonly events: string[] = []
  readonly #options: Partial<AutoscaleLoopOptions>
  /** Awaited before a write is done. */
  beforeWrite: () => Promise<void> = () => Promise.resolve()
  loop: AutoscaleLoop

  constructor(options: Partial<AutoscaleLoopOptions> = {}) {
    this.#options = options
    this.loop = this.#newLoop()
  }

  replicas(name: string): number {
    return this.models.get({ name })?.spec.replicas ?? 0
  }

  /** As if the program were killed and started again: nothing in memory stays. */
  async restart(): Promise<void> {
    await this.loop.stop()
    this.loop = this.#newLoop()
    this.loop.start()
  }

  #newLoop(): AutoscaleLoop {
    return new AutoscaleLoop({
      models: this.models,
      namespace: 'sluice',
      client: { scale: (_kind, { name }, replicas) => this.#write(name, replicas) },
      demand: this.demand,
      events: { record: ({ metadata }, _type, reason) => void this.events.push(`${metadata.name} ${reason}`) },
      clock: this.clock,
      log: silentLogger,
      metrics: new Metrics(),
      idleWindowMs: 600_000,
      ...this.#options,
    })
  }

  async #write(name: string, replicas: number): Promise<void> {
    await this.beforeWrite()
    const model = this.models.get({ name })
    if (!model) throw new Error(`no Model ${name}`)
    this.scaled.push({ name, replicas, at: this.clock.now() })
    this.models.put({ ...model, spec: { ...model.spec, replicas } })
  }
}
