import { type AddressSpan, formatSpan } from './address-spans.ts'
import type { FamilyWords } from './family-words.ts'
import type { Allowance, Direction, Isolation, PortSpan } from './policy-plan.ts'
import { type TableBuilder, nameFor } from './rule-text.ts'

/**
 * Adds the policies to the table: a map from the address of an isolated Pod to a chain that goes through its policies
 * and accepts what they allow. Pods with the same policies share a chain, and policies with the same peers share a set.
 */
export function addPolicies(
  table: TableBuilder,
  words: FamilyWords,
  isolations: readonly Isolation[],
  direction: Direction,
): string {
  const policiesOf = new Map<string, string[]>()
  for (const isolation of isolations) {
    if (isolation.direction !== direction) continue
    const chain = addPolicy(table, words, isolation)
    for (const owner of isolation.owners) {
      const chains = policiesOf.get(owner)
      if (chains) chains.push(chain)
      else policiesOf.set(owner, [chain])
    }
  }
  const shared = new Map<string, string>()
  const elements = [...policiesOf].map(([owner, policies]) => {
    const key = policies.join(' ')
    const name = shared.get(key) ?? nameFor(direction, key)
    if (!shared.has(key)) table.chain(name, [...policies.map((policy) => `jump ${policy}`), 'drop'])
    shared.set(key, name)
    return `${owner} : goto ${name}`
  })
  return table.set(words.nameOf(direction), { kind: 'map', type: `${words.type} : verdict`, elements })
}

function addPolicy(table: TableBuilder, words: FamilyWords, { key, direction, allowances }: Isolation): string {
  const rules = allowances.flatMap((allowance) => rulesOf(table, words, allowance, direction))
  return table.chain(nameFor('policy', words.match, direction, key), rules)
}

function rulesOf(
  table: TableBuilder,
  words: FamilyWords,
  { owners, peers, ports }: Allowance,
  direction: Direction,
): string[] {
  const { match } = words
  const [own, other] = direction === 'ingress' ? ['daddr', 'saddr'] : ['saddr', 'daddr']
  // Nobody is allowed: then there is no rule, rather than a rule without the condition, which would allow everybody.
  if (owners?.length === 0 || (peers !== 'everyone' && peers.length === 0)) return []
  const mine = owners ? `${match} ${own} @${addAddresses(table, words, owners)} ` : ''
  const whom = peers === 'everyone' ? '' : `${match} ${other} @${addSpans(table, words, peers)} `
  const what = ports === 'all' ? [''] : portMatches(ports)
  return what.map((which) => `${mine}${whom}${which}accept`)
}

/** By the list's identity: policies with the same peers have the same list. */
const knownNames = new WeakMap<readonly AddressSpan[], string>()

function addSpans(table: TableBuilder, words: FamilyWords, spans: readonly AddressSpan[]): string {
  const known = knownNames.get(spans)
  if (known !== undefined && table.sets.has(known)) return known
  const name = addAddresses(
    table,
    words,
    spans.map((span) => formatSpan(span, words.family)),
  )
  knownNames.set(spans, name)
  return name
}

function addAddresses(table: TableBuilder, { type }: FamilyWords, elements: readonly string[]): string {
  const name = nameFor('addresses', ...elements)
  return table.set(name, { kind: 'set', type: `${type}; flags interval`, elements })
}

/** One match for each protocol. */
function portMatches(ports: readonly PortSpan[]): string[] {
  const byProtocol = Map.groupBy(ports, ({ protocol }) => protocol)
  return [...byProtocol].map(([protocol, spans]) => {
    if (spans.some(({ first, last }) => first === 0 && last === 65_535)) return `meta l4proto ${protocol} `
    return `${protocol} dport { ${joinPorts(spans).join(', ')} } `
  })
}

/** Merges overlapping spans, which nft does not take in a set. */
function joinPorts(spans: readonly PortSpan[]): string[] {
  const joined: Array<{ first: number; last: number }> = []
  for (const { first, last } of spans.toSorted((one, other) => one.first - other.first)) {
    const before = joined.at(-1)
    if (before && first <= before.last + 1) before.last = Math.max(before.last, last)
    else joined.push({ first, last })
  }
  return joined.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`))
}
