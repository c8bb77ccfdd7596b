import { SluiceError } from '../../foundation/errors.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { onlyName, withKeys } from './key-cluster.ts'
import { expiryOf } from './key-expiry.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  { name: 'models', value: 'NAME,...', help: 'the models it may use (default: all)' },
  { name: 'expires', value: 'TIME', help: '90d, 12h, 30m, or a date such as 2031-01-31 (default: never)' },
  { name: 'enterprise', value: 'NAME', fallback: 'home', help: 'whose key it is' },
]

export const keyCreateCommand: Command = {
  name: 'key create',
  summary: 'Make a key for the inference endpoints and print it, this once.',
  example: 'sluice key create web-shop --models smollm2 --expires 90d',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyName(parsed)
    const models = parsed
      .text('models')
      ?.split(',')
      .map((model) => model.trim())
    if (models?.some((model) => model === '')) {
      throw new SluiceError('invalid_flag', { flag: '--models', reason: 'name models, separated by commas.' })
    }
    const expires = parsed.text('expires')
    const expiresAtMs = expires === undefined ? undefined : expiryOf(expires, Date.now())
    const enterprise = parsed.text('enterprise') ?? 'home'
    const key = await withKeys(parsed, (keys) => keys.create({ name, enterprise, models, expiresAtMs }))
    // Only the key goes to standard output, so that other programs can read it.
    console.log(key)
    console.error(`This is the key ${name}. Keep it: only its hash is stored, so it cannot be shown again.`)
    return 0
  },
}
