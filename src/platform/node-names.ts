import { hostname } from 'node:os'
import type { Card } from '../node/cards/card.ts'
import type { CardCounts } from './models/cluster-cards.ts'

/** The names of the Nodes that this machine is: called like the machine, all but the first with a number. */
export function nodeNames(count: number, host: string = hostname()): readonly [string, ...string[]] {
  const name = nodeName(host)
  const further = Array.from({ length: count - 1 }, (_, index) => {
    const tail = `-${index + 2}`
    return name.slice(0, longestName - tail.length) + tail
  })
  return [name, ...further]
}

/** How many cards of each kind each of these Nodes has: all have the same. */
export function cardsByNode(cards: readonly Card[], names: readonly string[]): ReadonlyMap<string, CardCounts> {
  const kinds = Map.groupBy(cards, ({ kind }) => kind)
  const each = new Map([...kinds].map(([kind, all]) => [kind, Math.floor(all.length / names.length)]))
  return new Map(names.map((name) => [name, each]))
}

const longestName = 63

/** Turns a host name into a DNS label. */
export function nodeName(host: string): string {
  const label = (host.toLowerCase().split('.')[0] ?? '').replaceAll(/[^a-z0-9-]/g, '-').replaceAll(/^-+|-+$/g, '')
  return label.slice(0, longestName) || 'node'
}
