import { withAccessKeys } from './access-key-cluster.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { onlyName } from '../keys/key-cluster.ts'

const flags: readonly Flag[] = [...clusterFlags, { name: 'undo', help: 'let it open again what it did' }]

export const accessKeyDisableCommand: Command = {
  name: 'access-key disable',
  summary: 'Let a key pair of the management API open nothing from the next request on.',
  example: 'sluice access-key disable console',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyName(parsed)
    const isUndone = parsed.isSet('undo')
    await withAccessKeys(parsed, (keys) => keys.disable(name, !isUndone))
    console.log(`The key pair ${name} is ${isUndone ? 'in use again' : 'disabled'}.`)
    return 0
  },
}
