import type { ApiKey } from '../../resources/api-key.ts'
import type { Command } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from '../cluster-connection.ts'
import { withKeys } from './key-cluster.ts'
import { renderTable } from '../text-table.ts'

export const keyListCommand: Command = {
  name: 'key list',
  summary: 'List the keys for the inference endpoints; the keys themselves are not stored.',
  flags: clusterFlags,
  async run(args) {
    const keys = await withKeys(parseFlags(clusterFlags, args), (all) => all.list())
    console.log(renderKeys(keys, Date.now()))
    return 0
  },
}

export function renderKeys(keys: readonly ApiKey[], now: number): string {
  if (keys.length === 0) return 'There are no keys. `sluice key create NAME` makes one.'
  const rows = keys.map(({ metadata, spec }) => [
    metadata.name,
    `sk-${spec.accessKey}-…`,
    spec.allowedModels?.join(',') ?? 'all',
    stateOf(spec, now),
    spec.expiresAt ?? 'never',
    metadata.creationTimestamp ?? '',
  ])
  return renderTable([['NAME', 'KEY', 'MODELS', 'STATE', 'EXPIRES', 'CREATED'], ...rows])
}

function stateOf({ disabled, expiresAt }: ApiKey['spec'], now: number): string {
  if (disabled) return 'disabled'
  return expiresAt !== undefined && !(now < Date.parse(expiresAt)) ? 'expired' : 'active'
}
