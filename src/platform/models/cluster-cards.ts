import { isDeepStrictEqual } from 'node:util'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { ProfileFacts, ProfileTable } from '../../operator/resource-profile.ts'
import type { Node } from '../../resources/node.ts'

/**
 * Cards are named `<vendor>.com/gpu-<model>`, or `<vendor>.com/gpu` by the vendors' own device plugins. The operator's
 * profiles may count other resources as cards.
 */
const cardName = /^[^/]+\.com\/gpu(-|$)/

/** How many cards of each kind there are. */
export type CardCounts = ReadonlyMap<string, number>

/** Which cards the cluster's nodes have. Those of this machine count from the start, even before it is a Node. */
export class ClusterCards {
  readonly #own: ReadonlyMap<string, CardCounts>
  readonly #nodes: ObjectCache<Node>
  readonly #table: ProfileTable
  readonly #groupsUnavailable: string | undefined
  readonly #listeners = new Set<() => void>()
  #facts: ProfileFacts | undefined

  constructor(options: {
    /** The cards of this machine, by the names of its Nodes. */
    readonly own: ReadonlyMap<string, CardCounts>
    readonly nodes: ObjectCache<Node>
    readonly table: ProfileTable
    /** Why Pods of one replica could not work together; undefined when they can. */
    readonly groupsUnavailable?: string | undefined
  }) {
    this.#own = options.own
    this.#nodes = options.nodes
    this.#table = options.table
    this.#groupsUnavailable = options.groupsUnavailable
    options.nodes.onChange(({ type, object, previous }) => {
      // Nodes report every few seconds, but their cards rarely change.
      const after = type === 'deleted' ? undefined : resourcesOf(object)
      if (!isDeepStrictEqual(previous && resourcesOf(previous), after)) this.#changed()
    })
  }

  facts(): ProfileFacts {
    this.#facts ??= this.#read()
    return this.#facts
  }

  /** Calls back whenever the cards have changed. Returns a function that ends this. */
  onChange(callback: () => void): () => void {
    this.#listeners.add(callback)
    return () => this.#listeners.delete(callback)
  }

  #changed(): void {
    this.#facts = undefined
    for (const listener of this.#listeners) listener()
  }

  #read(): ProfileFacts {
    const nodes = new Map([...this.#own].map(([name, counts]) => [name, new Map(counts)]))
    for (const node of this.#nodes.list()) {
      const counts = nodes.get(node.metadata.name) ?? new Map<string, number>()
      for (const [kind, count] of resourcesOf(node)) counts.set(kind, Math.max(count, counts.get(kind) ?? 0))
      nodes.set(node.metadata.name, counts)
    }
    const nodeCards = new Map<string, number[]>()
    for (const [kind, count] of [...nodes.values()].flatMap((counts) => [...counts])) {
      nodeCards.set(kind, [...(nodeCards.get(kind) ?? []), count])
    }
    const largestNode = new Map([...nodeCards].map(([kind, counts]) => [kind, Math.max(...counts)]))
    const ownKinds = new Set([...this.#own.values()].flatMap((counts) => [...counts.keys()]))
    const cardKinds = [...largestNode.keys()].filter((name) => ownKinds.has(name) || cardName.test(name))
    return { table: this.#table, cardKinds, largestNode, nodeCards, groupsUnavailable: this.#groupsUnavailable }
  }
}

/** Resources in whole pieces. Counts the capacity, not what is free: a card under repair will come back. */
function resourcesOf({ status }: Node): ReadonlyMap<string, number> {
  const all = Object.entries({ ...status?.allocatable, ...status?.capacity })
  return new Map(all.flatMap(([name, count]) => (Number(count) > 0 ? [[name, Number(count)]] : [])))
}
