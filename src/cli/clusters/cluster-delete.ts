import { clusterFlags } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { onlyCluster, waitFlag, waitMs, withClusters } from './cluster-flags.ts'
import { parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  { name: 'purge', help: 'remove its data, too; without it, a cluster of the same name has them again' },
  waitFlag,
]

export const clusterDeleteCommand: Command = {
  name: 'cluster delete',
  summary: 'Stop the Pods of a cluster and take it away; an attached one is only let go of.',
  example: 'sluice cluster delete team-a --purge',
  positional: 'NAME',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyCluster(parsed)
    const purge = parsed.isSet('purge')
    await withClusters(parsed, (clusters) => clusters.delete(name, { purge, deadlineMs: waitMs(parsed) }))
    console.log(`The cluster ${name} is deleted${purge ? ', and its data with it' : '; its data are kept'}.`)
    return 0
  },
}
