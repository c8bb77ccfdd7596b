import { SluiceError } from '../../foundation/errors.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'the cluster of the models (default: the one this runs in, else the one kubectl would use)',
  },
  { name: 'all', help: 'all models' },
  {
    name: 'after-controllers',
    help: 'begin when no `sluice controller` is left in the cluster, which would wake them',
  },
  { name: 'deadline', value: 'SECONDS', fallback: '120', help: 'how long their Pods may take to end' },
]

export const modelSleepCommand: Command = {
  name: 'model sleep',
  summary: 'Put models to sleep at once: end their Pods, whatever they do. A request wakes them again.',
  example: 'sluice model sleep --all --kubeconfig ~/.kube/config',
  positional: '[MODEL...]',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const names = parsed.positionals
    if (parsed.isSet('all') === names.length > 0) {
      throw new SluiceError('invalid_flag', { flag: 'MODEL', reason: 'name models, or say --all.' })
    }
    const seconds = parsed.number('deadline', { min: 1, max: 24 * 3600 }) ?? 120
    const { putToSleepIn } = await import('../../platform/models/put-to-sleep.ts')
    const order = {
      models: parsed.isSet('all') ? ('all' as const) : new Set(names),
      afterControllers: parsed.isSet('after-controllers'),
    }
    const asleep = await putToSleepIn({ path: parsed.text('kubeconfig') }, order, AbortSignal.timeout(seconds * 1000))
    console.log(asleep.length === 0 ? 'No model has a Pod.' : `Asleep: ${asleep.join(', ')}.`)
    return 0
  },
}
