import type { Command, Flag } from '../command.ts'
import { renderPair, withAccessKeys } from './access-key-cluster.ts'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { onlyName } from '../keys/key-cluster.ts'
import { expiryOf } from '../keys/key-expiry.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  { name: 'enterprise', value: 'NAME', fallback: 'home', help: 'whose clusters it opens' },
  { name: 'expires', value: 'TIME', help: '90d, 12h, 30m, or a date such as 2031-01-31 (default: never)' },
]

export const accessKeyCreateCommand: Command = {
  name: 'access-key create',
  summary: 'Make a key pair for the management API and print it, this once.',
  example: 'sluice access-key create console > pair.json',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyName(parsed)
    const expires = parsed.text('expires')
    const expiresAtMs = expires === undefined ? undefined : expiryOf(expires, Date.now())
    const enterprise = parsed.text('enterprise') ?? 'home'
    const pair = await withAccessKeys(parsed, (keys) => keys.create({ name, enterprise, expiresAtMs }))
    console.log(renderPair(pair))
    console.error(`This is the key pair ${name}. Keep it: of its secret only the hash is stored.`)
    return 0
  },
}
