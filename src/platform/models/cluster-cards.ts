import { isDeepStrictEqual } from 'node:util'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { ProfileFacts, ProfileTable } from '../../operator/resource-profile.ts'
import type { Node } from '../../resources/node.ts'

/** Cards are named `<vendor>.com/gpu-<model>`. The operator's profiles may count other resources as cards. */
const cardName = /^[^/]+\.com\/gpu-/

/** Which cards the cluster's nodes have. This machine's cards count from the start, even before its Node is written. */
export class ClusterCards {
  readonly #own: ReadonlyMap<string, number>
  readonly #nodes: ObjectCache<Node>
  readonly #table: ProfileTable
  readonly #listeners = new Set<() => void>()
  #facts: ProfileFacts | undefined

  constructor(options: {
    /** The kind of each card of this machine. */
    readonly own: readonly string[]
    readonly nodes: ObjectCache<Node>
    readonly table: ProfileTable
  }) {
    this.#own = countsOf(options.own)
    this.#nodes = options.nodes
    this.#table = options.table
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
    const largestNode = new Map(this.#own)
    for (const node of this.#nodes.list()) {
      for (const [name, count] of resourcesOf(node)) largestNode.set(name, Math.max(count, largestNode.get(name) ?? 0))
    }
    const cardKinds = [...largestNode.keys()].filter((name) => this.#own.has(name) || cardName.test(name))
    return { table: this.#table, cardKinds, largestNode }
  }
}

function countsOf(kinds: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Resources in whole pieces. Counts the capacity, not what is free: a card under repair will come back. */
function resourcesOf({ status }: Node): ReadonlyMap<string, number> {
  const all = Object.entries({ ...status?.allocatable, ...status?.capacity })
  return new Map(all.flatMap(([name, count]) => (Number(count) > 0 ? [[name, Number(count)]] : [])))
}
