import type { FilterTool } from './filter-tool.ts'
import { NetworkNames } from './network-names.ts'
import type { NetworkTool } from './network-tool.ts'
import { objectsOf, textOf } from './spec-text.ts'

/**
 * Removes the rules of nodes of this program that have no bridge any more, as where somebody cleaned up by hand after
 * one that had been killed. They would go on refusing what comes from and to its addresses, which the next network may
 * have, since nothing else shows that they are taken.
 */
export async function removeOwnerlessRules(filter: FilterTool, tool: NetworkTool): Promise<readonly string[]> {
  // First the tables, since a node makes its bridge before them, and takes it away after them.
  const tables = (await filter.read(['list', 'tables'])).split('\n')
  const bridges = objectsOf(await tool.read(['link', 'show', 'type', 'bridge'])).map((link) => textOf(link['ifname']))
  const ownerless = tables.filter((line) => {
    const bridge = NetworkNames.bridgeOfTable(line)
    return bridge !== undefined && !bridges.includes(bridge)
  })
  // Added before, so that one that is gone meanwhile is no failure.
  const lines = ownerless.flatMap((table) => [`add ${table}`, `delete ${table}`])
  if (lines.length > 0) await filter.apply(`${lines.join('\n')}\n`)
  return ownerless
}
