import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import { modelOfPod } from '../../../resources/model-ownership.ts'
import { computeCenterEntries } from '../../compute-center-entry.ts'
import type { CardView, HistorySample } from '../console-shapes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import { ConsoleHistory, recentEveryMs, sampleOf } from '../history/console-history.ts'
import { WakeRecorder } from '../history/wake-recorder.ts'
import { cardViews } from '../views/card-view.ts'
import { modelView } from '../views/model-view.ts'
import { nodeView } from '../views/node-view.ts'
import { centerView, clusterView, exposureView, keyView } from '../views/plain-views.ts'
import { mostPods, podView } from '../views/pod-view.ts'
import { usageView } from '../views/usage-view.ts'
import { LiveItems } from './live-items.ts'

/** Changes that come closer together are shown together. */
const gatherMs = 150
/** How often traffic is looked at while somebody watches. */
const trafficEveryMs = 1_000

type Part =
  | 'models'
  | 'pods'
  | 'cards'
  | 'nodes'
  | 'exposures'
  | 'clusters'
  | 'centers'
  | 'keys'
  | 'wakes'
  | 'usage'
  | 'sample'

/** What another part of the console shows besides resources. */
export interface FurtherItems {
  readonly prefix: string
  readonly list: () => ReadonlyMap<string, unknown>
}

/**
 * Keeps what the console shows current: from caches that others fill, and only while somebody watches. The history goes
 * on all the time, with a look every few seconds.
 */
export class ConsoleFeed {
  readonly items = new LiveItems()
  readonly history = new ConsoleHistory()
  readonly #world: ConsoleWorld
  readonly #clock: Clock
  readonly #wakes: WakeRecorder
  readonly #stale = new Set<Part>()
  readonly #listeners = new Set<() => void>()
  readonly #further: FurtherItems[] = []
  readonly #unsubscribe: Array<() => void> = []
  #lastSample: HistorySample | undefined
  #cancelGathering: CancelTimer | undefined
  #cancelTraffic: CancelTimer | undefined
  #cancelSampling: CancelTimer = () => {}

  constructor(world: ConsoleWorld, clock: Clock) {
    this.#world = world
    this.#clock = clock
    const { models, pods } = world.caches
    this.#wakes = new WakeRecorder({ models, pods, now: () => clock.now(), onChange: () => this.#changed('wakes') })
  }

  start(): void {
    const { caches } = this.#world
    const watch = (cache: Changing, ...parts: readonly Part[]) =>
      this.#unsubscribe.push(cache.onChange(() => this.#changed(...parts)))
    watch(caches.models, 'models', 'pods', 'cards')
    watch(caches.pods, 'pods', 'nodes', 'cards')
    watch(caches.nodes, 'nodes', 'cards')
    watch(caches.exporters, 'exposures')
    watch(caches.clusters, 'clusters', 'keys', 'centers')
    watch(caches.centers, 'centers')
    watch(caches.keys, 'keys')
    watch(caches.usage, 'usage')
    this.#wakes.start()
    this.#sample()
  }

  stop(): void {
    this.#cancelGathering?.()
    this.#cancelTraffic?.()
    this.#cancelSampling()
    this.#wakes.stop()
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe()
  }

  /** Everything is current when this returns, and the listener is called after each change. */
  watch(listener: () => void): () => void {
    if (this.#listeners.size === 0) {
      this.#buildAll()
      this.#lookAtTraffic()
    } else this.#build()
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#cancelTraffic?.()
      this.#cancelGathering?.()
      this.#cancelGathering = undefined
    }
  }

  /** Further items, whose owner tells by the returned function that they have changed. */
  add(further: FurtherItems): () => void {
    this.#further.push(further)
    return () => this.#changed()
  }

  #changed(...parts: readonly Part[]): void {
    // Nobody looks: with the first who does, everything is built anyway.
    if (this.#listeners.size === 0) return
    for (const part of parts) this.#stale.add(part)
    this.#cancelGathering ??= this.#clock.after(gatherMs, () => {
      this.#cancelGathering = undefined
      this.#build()
      for (const listener of this.#listeners) listener()
    })
  }

  #lookAtTraffic(): void {
    if (!this.#world.traffic) return
    this.#cancelTraffic = this.#clock.after(trafficEveryMs, () => {
      this.#changed('models', 'cards')
      this.#lookAtTraffic()
    })
  }

  #sample(): void {
    this.#cancelSampling = this.#clock.after(recentEveryMs, () => this.#sample())
    const models = this.#models().map(({ metadata }) => metadata.name)
    this.#lastSample = sampleOf(this.#clock.now(), models, this.#cards(), this.#world.traffic)
    this.history.add(this.#lastSample)
    this.#changed('sample')
  }

  #buildAll(): void {
    const all: readonly Part[] = [
      'models',
      'pods',
      'cards',
      'nodes',
      'exposures',
      'clusters',
      'centers',
      'keys',
      'wakes',
      'usage',
      'sample',
    ]
    for (const part of all) this.#stale.add(part)
    this.#build()
  }

  #build(): void {
    const { caches } = this.#world
    const owner = this.#owner()
    const parts = new Set(this.#stale)
    this.#stale.clear()
    if (parts.has('models')) {
      this.#show(
        'model/',
        this.#models(),
        ({ name }) => name,
        (model) => modelView(model, this.#world.traffic),
      )
    }
    if (parts.has('pods')) this.#buildPods()
    if (parts.has('nodes')) this.#buildNodes()
    if (parts.has('cards')) this.items.replace('card/', new Map(this.#cards().map((card) => [card.name, card])))
    if (parts.has('exposures')) {
      const keyOf = ({ namespace = '', name }: Named) => `${namespace}/${name}`
      this.#show('exposure/', caches.exporters.list(), keyOf, exposureView)
    }
    if (parts.has('clusters')) {
      const own = caches.clusters.list().filter(({ spec }) => spec.enterprise === owner)
      this.#show('cluster/', own, ({ name }) => name, clusterView)
    }
    if (parts.has('centers')) {
      const open = new Set(computeCenterEntries([...caches.centers.list()], owner).map(({ code }) => code))
      const centers = caches.centers.list().filter(({ spec }) => open.has(spec.code))
      this.#show('center/', centers, ({ name }) => name, centerView)
    }
    if (parts.has('keys')) {
      const own = caches.keys.list().filter(({ spec }) => spec.enterprise === owner)
      this.#show('key/', own, ({ name }) => name, keyView)
    }
    if (parts.has('wakes')) this.items.replace('wake/', new Map(this.#wakes.list().map((wake) => [wake.id, wake])))
    if (parts.has('usage')) {
      this.items.replace('usage/', new Map([['month', usageView(caches.usage.list(), this.#clock.now())]]))
    }
    if (parts.has('sample')) this.items.replace('sample', new Map([['', this.#lastSample]]))
    for (const { prefix, list } of this.#further) this.items.replace(prefix, list())
  }

  #show<T extends { readonly metadata: Named }>(
    prefix: string,
    objects: readonly T[],
    keyOf: (metadata: Named) => string,
    view: (object: T) => unknown,
  ): void {
    this.items.replace(prefix, new Map(objects.map((object) => [keyOf(object.metadata), view(object)])))
  }

  #buildPods(): void {
    const { pods, models } = this.#world.caches
    const { true: ofModels = [], false: others = [] } = Object.groupBy(pods.list(), (pod) =>
      modelOfPod(pod, models) === undefined ? 'false' : 'true',
    )
    const shown = [...ofModels, ...others].slice(0, mostPods).map((pod) => podView(pod, models))
    this.items.replace('pod/', new Map(shown.map((view) => [`${view.namespace}/${view.name}`, view])))
    this.items.replace('left-out/', new Map([['pods', Math.max(0, pods.list().length - mostPods)]]))
  }

  #buildNodes(): void {
    const { pods, nodes } = this.#world.caches
    const byNode = Map.groupBy(pods.list(), ({ spec }) => spec.nodeName)
    const views = nodes.list().map((node) => nodeView(node, byNode.get(node.metadata.name) ?? []))
    this.items.replace('node/', new Map(views.map((view) => [view.name, view])))
  }

  #models() {
    const { caches, namespace } = this.#world
    return caches.models.list().filter(({ metadata }) => metadata.namespace === namespace)
  }

  #cards(): CardView[] {
    const { caches, traffic } = this.#world
    const { nodes, pods, models } = caches
    return cardViews({ nodes: nodes.list(), pods: pods.list(), models, traffic })
  }

  #owner(): string {
    const { caches, clusterId } = this.#world
    return caches.clusters.get({ name: clusterId })?.spec.enterprise ?? ''
  }
}

interface Changing {
  onChange(listener: () => void): () => void
}

interface Named {
  readonly name: string
  readonly namespace?: string | undefined
}
