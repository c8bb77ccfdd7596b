import { createHash } from 'node:crypto'

/** The parts of an nft table, by name. */
export interface TableParts {
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** Sets and maps with exactly these elements. */
  readonly sets: ReadonlyMap<string, NamedSet>
  /** Sets that the kernel fills; their content is kept as long as they are part of the table. */
  readonly memories: ReadonlyMap<string, string>
}

export interface NamedSet {
  readonly kind: 'set' | 'map'
  readonly type: string
  readonly elements: readonly string[]
}

/** Collects the parts of a table. Adding the same part twice under its derived name adds it once. */
export class TableBuilder implements TableParts {
  readonly chains = new Map<string, readonly string[]>()
  readonly sets = new Map<string, NamedSet>()
  readonly memories = new Map<string, string>()

  chain(name: string, rules: readonly string[]): string {
    this.chains.set(name, rules)
    return name
  }

  set(name: string, set: NamedSet): string {
    this.sets.set(name, set)
    return name
  }

  memory(name: string, declaration: string): string {
    this.memories.set(name, declaration)
    return name
  }
}

/** A name derived from these words, short enough for the kernel. */
export function nameFor(prefix: string, ...words: readonly string[]): string {
  return `${prefix}_${createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 16)}`
}

/**
 * The nft script that turns the table into these parts, atomically. `previous` are the parts known to be there; without
 * them the table is recreated, and what the kernel stored in it is lost.
 */
export function transaction(table: string, parts: TableParts, previous?: TableParts): string {
  const lines = [`add table ${table}`]
  if (previous) lines.push(`flush table ${table}`, ...removals(table, parts, previous))
  else lines.push(`delete table ${table}`)
  lines.push(`table ${table} {`)
  for (const [name, { kind, type, elements }] of parts.sets) {
    const held = elements.length === 0 ? '' : `; elements = { ${elements.join(', ')} }`
    lines.push(`${kind} ${name} { type ${type}${held}; }`)
  }
  for (const [name, declaration] of parts.memories) lines.push(`set ${name} { ${declaration} }`)
  // All chains come before all rules, since rules and maps may refer to any chain.
  for (const [name, rules] of parts.chains) lines.push(`chain ${name} {`, ...rules, '}')
  lines.push('}')
  return `${lines.join('\n')}\n`
}

function removals(table: string, parts: TableParts, previous: TableParts): string[] {
  const emptied = [...previous.sets].map(([name, { kind }]) => `flush ${kind} ${table} ${name}`)
  const gone = (kind: string, names: Iterable<string>, kept: ReadonlyMap<string, unknown>) =>
    [...names].filter((name) => !kept.has(name)).map((name) => `delete ${kind} ${table} ${name}`)
  const sets = [...previous.sets].filter(([name]) => !parts.sets.has(name))
  return [
    ...emptied,
    ...gone('chain', previous.chains.keys(), parts.chains),
    ...sets.map(([name, { kind }]) => `delete ${kind} ${table} ${name}`),
    ...gone('set', previous.memories.keys(), parts.memories),
  ]
}
