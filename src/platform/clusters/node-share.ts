import type { NodeShare } from '../../node/registration/node-report.ts'
import type { Cluster } from '../../resources/cluster.ts'
import { parseQuantity } from '../../resources/quantity.ts'

/** The share of the machine that a cluster's quota allows. */
export function shareOf({ spec }: { readonly spec: Pick<Cluster['spec'], 'quota'> }): NodeShare {
  const { cpu, memory, ...others } = spec.quota ?? {}
  const amount = (text: string | undefined) => (text === undefined ? undefined : parseQuantity(text))
  const cards = Object.entries(others).map(([kind, text]) => [kind, Math.floor(parseQuantity(text) ?? 0)] as const)
  return { cpus: amount(cpu), memoryBytes: amount(memory), cards: new Map(cards) }
}
