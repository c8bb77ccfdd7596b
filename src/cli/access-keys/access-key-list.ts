import type { ApiKey } from '../../resources/api-key.ts'
import { withAccessKeys } from './access-key-cluster.ts'
import type { Command } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from '../cluster-connection.ts'
import { renderTable } from '../text-table.ts'

export const accessKeyListCommand: Command = {
  name: 'access-key list',
  summary: 'List the key pairs of the management API; their secrets are not stored.',
  flags: clusterFlags,
  async run(args) {
    const keys = await withAccessKeys(parseFlags(clusterFlags, args), (all) => all.list())
    console.log(renderAccessKeys(keys, Date.now()))
    return 0
  },
}

export function renderAccessKeys(keys: readonly ApiKey[], now: number): string {
  if (keys.length === 0) return 'There are no key pairs. `sluice access-key create NAME` makes one.'
  const rows = keys.map(({ metadata, spec }) => [
    metadata.name,
    spec.accessKey,
    spec.enterprise,
    stateOf(spec, now),
    spec.expiresAt ?? 'never',
    metadata.creationTimestamp ?? '',
  ])
  return renderTable([['NAME', 'ACCESS KEY', 'ENTERPRISE', 'STATE', 'EXPIRES', 'CREATED'], ...rows])
}

function stateOf({ disabled, expiresAt, previousSecret }: ApiKey['spec'], now: number): string {
  const isOver = (time: string) => !(now < Date.parse(time))
  if (disabled) return 'disabled'
  if (expiresAt !== undefined && isOver(expiresAt)) return 'expired'
  const isRotating = previousSecret !== undefined && !isOver(previousSecret.expiresAt)
  return isRotating ? `rotating until ${previousSecret.expiresAt}` : 'active'
}
