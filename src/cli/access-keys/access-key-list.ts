import { type ApiKey, apiKeyKind } from '../../resources/api-key.ts'
import type { Command } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, renderList, shownResource } from '../output/print-output.ts'
import { withAccessKeys } from './access-key-cluster.ts'

const flags = [...clusterFlags, outputFlag]

export const accessKeyListCommand: Command = {
  name: 'access-key list',
  summary: 'List the key pairs of the management API; their secrets are not stored.',
  example: 'sluice access-key list -o json',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const keys = await withAccessKeys(parsed, (all) => all.list())
    print(await renderList(keys, accessKeyListing(Date.now()), form))
    return 0
  },
}

export function accessKeyListing(now: number): Listing<ApiKey> {
  return {
    resource: shownResource(apiKeyKind),
    nameOf: ({ metadata }) => metadata.name,
    columns: [
      { title: 'NAME', text: ({ metadata }) => metadata.name },
      { title: 'ACCESS KEY', text: ({ spec }) => spec.accessKey },
      { title: 'ENTERPRISE', text: ({ spec }) => spec.enterprise },
      { title: 'STATE', text: ({ spec }) => stateOf(spec, now) },
      { title: 'EXPIRES', text: ({ spec }) => spec.expiresAt ?? 'never' },
      { title: 'CREATED', text: ({ metadata }) => metadata.creationTimestamp ?? '' },
    ],
    none: 'There are no key pairs. `sluice access-key create NAME` makes one.',
  }
}

function stateOf({ disabled, expiresAt, previousSecret }: ApiKey['spec'], now: number): string {
  const isOver = (time: string) => !(now < Date.parse(time))
  if (disabled) return 'disabled'
  if (expiresAt !== undefined && isOver(expiresAt)) return 'expired'
  const isRotating = previousSecret !== undefined && !isOver(previousSecret.expiresAt)
  return isRotating ? `rotating until ${previousSecret.expiresAt}` : 'active'
}
