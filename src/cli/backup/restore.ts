import { newDataDirectory } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { ProgressBar } from '../output/progress-bar.ts'
import { onlyPositional, parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  { name: 'data', value: 'DIR', fallback: '.sluice', help: 'the data directory to make; empty, or not there yet' },
]

export const restoreCommand: Command = {
  name: 'restore',
  summary: 'Make a data directory of what `sluice backup` wrote.',
  example: 'sluice restore sluice.tar.gz --data ~/sluice',
  positional: 'FILE',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const file = onlyPositional(parsed, 'FILE', 'name the file that `sluice backup` wrote')
    const { restoreBackup } = await import('../../platform/backup/restore-backup.ts')
    const bar = new ProgressBar(process.stderr, 'restore')
    const restored = restoreBackup(file, newDataDirectory(parsed), bar.forLongWork)
    const { directory, clusters, madeAt, keys, claims } = await restored.finally(() => bar.finish())
    console.log(`${directory} has ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'} as of ${madeAt}.`)
    if (!keys) console.log('It has no keys: kubeconfigs and access keys of before do not open what starts from it.')
    if (!claims) console.log('It has no files of claims: put models back into it before they are asked.')
    console.log(`Start it with: sluice up --data ${directory}`)
    return 0
  },
}
