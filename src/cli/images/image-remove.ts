import { dataDirectoryOf, dataFlag } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { onlyPositional, parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [dataFlag]

export const imageRemoveCommand: Command = {
  name: 'image remove',
  summary: 'Remove a container image by a name of it, or by its whole ID; running containers keep its files.',
  example: 'sluice image remove web:1',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyPositional(parsed, 'NAME', 'name exactly one image.')
    const { openImageLibrary } = await import('../../platform/images/image-library.ts')
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    const { removed, inUse } = await openImageLibrary(dataDirectoryOf(parsed)).remove(name, stop.signal)
    for (const record of removed) console.log(`${record.name} removed`)
    if (inUse) console.error('Containers run from it: its files go when they have ended.')
    return 0
  },
}
