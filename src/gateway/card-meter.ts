import type { CancelTimer, Clock } from '../foundation/clock.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { modelOfPod } from '../resources/model-ownership.ts'
import type { Model } from '../resources/model.ts'
import type { ObjectRef } from '../resources/object-ref.ts'
import { type Pod, isPodFinished, isPodReady } from '../resources/pod.ts'
import { servingName } from '../resources/serving-group.ts'
import type { Demand } from '../traffic/demand.ts'

export interface CardMeterOptions {
  readonly namespace: string
  readonly pods: { list(): readonly Pod[] }
  readonly models: { get(ref: ObjectRef): Model | undefined }
  readonly demand: Pick<Demand, 'inFlightByEndpoint'>
  readonly clock: Clock
  readonly metrics: Metrics
  /** Is told how many cards each model has held for this long. */
  readonly onStep?: ((seconds: number, heldByModel: ReadonlyMap<string, number>) => void) | undefined
}

const everyMs = 1_000
/** After a longer pause (the machine slept) only this much is counted: nobody knows what happened meanwhile. */
const longestStepMs = 10_000

/** Measures what the Models' Pods cost: how long each model held how many cards, and for what. */
export class CardMeter {
  readonly #options: CardMeterOptions
  readonly #seconds
  readonly #held
  #cancel: CancelTimer | undefined
  #lastAt = 0
  /** Series of the gauge that are not zero. */
  #shown = new Map<string, { readonly model: string; readonly card: string }>()

  constructor(options: CardMeterOptions) {
    this.#options = options
    this.#seconds = options.metrics.counter(
      'sluice_gateway_card_seconds_total',
      'Card-seconds held by Pods of the model: `starting` until ready, then `active` with a request, else `idle`.',
      ['model', 'card', 'state'],
    )
    this.#held = options.metrics.gauge('sluice_gateway_cards', 'Cards that Pods of the model hold now.', [
      'model',
      'card',
    ])
  }

  start(): void {
    this.#lastAt = this.#options.clock.now()
    this.#schedule()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.after(everyMs, () => {
      this.#schedule()
      this.#measure()
    })
  }

  #measure(): void {
    const { namespace, pods, models, demand, clock, onStep } = this.#options
    const now = clock.now()
    const stepSeconds = Math.min(Math.max(0, now - this.#lastAt), longestStepMs) / 1000
    this.#lastAt = now
    const held = new Map<string, { readonly model: string; readonly card: string; count: number }>()
    const heldByModel = new Map<string, number>()
    for (const pod of pods.list()) {
      if (pod.metadata.namespace !== namespace) continue
      const model = modelOfPod(pod, models)?.metadata.name
      if (model === undefined) continue
      for (const [card, count] of cardsHeld(pod)) {
        const busy = (demand.inFlightByEndpoint(model).get(servingName(pod)) ?? 0) > 0
        const state = busy ? 'active' : isPodReady(pod) ? 'idle' : 'starting'
        this.#seconds.inc({ model, card, state }, count * stepSeconds)
        const key = `${model} ${card}`
        held.set(key, { model, card, count: (held.get(key)?.count ?? 0) + count })
        heldByModel.set(model, (heldByModel.get(model) ?? 0) + count)
      }
    }
    onStep?.(stepSeconds, heldByModel)
    for (const { model, card, count } of held.values()) this.#held.set({ model, card }, count)
    for (const [key, labels] of this.#shown) if (!held.has(key)) this.#held.set(labels, 0)
    this.#shown = new Map([...held].map(([key, { model, card }]) => [key, { model, card }]))
  }
}

/** A Pod holds its cards from the moment it has a node until it is finished. */
export function cardsHeld(pod: Pod): ReadonlyMap<string, number> {
  const cards = new Map<string, number>()
  if (pod.spec.nodeName === undefined || isPodFinished(pod)) return cards
  for (const { resources } of pod.spec.containers) {
    for (const [name, amount] of Object.entries(resources?.limits ?? resources?.requests ?? {})) {
      const count = /\/gpu(?:-|$)/.test(name) ? Number(amount) : 0
      if (count > 0) cards.set(name, (cards.get(name) ?? 0) + count)
    }
  }
  return cards
}
