import { type ApiKey, apiKeyKind } from '../../resources/api-key.ts'
import type { Command } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, renderList, shownResource } from '../output/print-output.ts'
import { withKeys } from './key-cluster.ts'

const flags = [...clusterFlags, outputFlag]

export const keyListCommand: Command = {
  name: 'key list',
  summary: 'List the keys for the inference endpoints; the keys themselves are not stored.',
  example: 'sluice key list -o wide',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const keys = await withKeys(parsed, (all) => all.list())
    print(await renderList(keys, keyListing(Date.now()), form))
    return 0
  },
}

export function keyListing(now: number): Listing<ApiKey> {
  return {
    resource: shownResource(apiKeyKind),
    nameOf: ({ metadata }) => metadata.name,
    columns: [
      { title: 'NAME', text: ({ metadata }) => metadata.name },
      { title: 'KEY', text: ({ spec }) => `sk-${spec.accessKey}-…` },
      { title: 'MODELS', text: ({ spec }) => spec.allowedModels?.join(',') ?? 'all' },
      { title: 'STATE', text: ({ spec }) => stateOf(spec, now) },
      { title: 'EXPIRES', text: ({ spec }) => spec.expiresAt ?? 'never' },
      { title: 'CREATED', text: ({ metadata }) => metadata.creationTimestamp ?? '' },
      { title: 'ENTERPRISE', wide: true, text: ({ spec }) => spec.enterprise },
    ],
    none: 'There are no keys. `sluice key create NAME` makes one.',
  }
}

function stateOf({ disabled, expiresAt }: ApiKey['spec'], now: number): string {
  if (disabled) return 'disabled'
  return expiresAt !== undefined && !(now < Date.parse(expiresAt)) ? 'expired' : 'active'
}
