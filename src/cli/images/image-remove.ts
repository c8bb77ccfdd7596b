import { SluiceError } from '../../foundation/errors.ts'
import type { Command, Flag } from '../command.ts'
import { parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory of the cluster that has the image' },
]

export const imageRemoveCommand: Command = {
  name: 'image remove',
  summary: 'Remove a container image by a name of it, or by its whole ID; running containers keep its files.',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [name, ...extra] = parsed.positionals
    if (name === undefined || extra.length > 0) {
      throw new SluiceError('invalid_flag', { flag: 'NAME', reason: 'name exactly one image.' })
    }
    const { openImageLibrary } = await import('../../platform/images/image-library.ts')
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const { removed, inUse } = await openImageLibrary(parsed.text('data') ?? '.sluice').remove(name, stop.signal)
    for (const record of removed) console.log(`${record.name} removed`)
    if (inUse) console.error('Containers run from it: its files go when they have ended.')
    return 0
  },
}
