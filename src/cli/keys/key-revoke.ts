import type { Command } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { onlyName, withKeys } from './key-cluster.ts'

export const keyRevokeCommand: Command = {
  name: 'key revoke',
  summary: 'Take a key for the inference endpoints away for good; requests that run with it finish.',
  example: 'sluice key revoke web-shop',
  positional: 'NAME',
  flags: clusterFlags,
  async run(args) {
    const parsed = parseFlags(clusterFlags, args)
    const name = onlyName(parsed)
    await withKeys(parsed, (keys) => keys.revoke(name))
    console.log(`The key ${name} is revoked.`)
    return 0
  },
}
