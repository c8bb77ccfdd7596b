import { dataDirectoryOf, dataFlag } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { ProgressBar } from '../output/progress-bar.ts'
import { onlyPositional, parseFlags } from '../flags.ts'

const flags: readonly Flag[] = [
  dataFlag,
  { name: 'claims', help: 'with the files of claims, such as models: as they are while they are read' },
  { name: 'no-keys', help: 'without private keys and tokens of administrators, which a restored cluster makes anew' },
]

export const backupCommand: Command = {
  name: 'backup',
  summary: 'Write all clusters of a data directory into one file, also while they run. It is as secret as they are.',
  example: 'sluice backup sluice.tar.gz --claims',
  positional: 'FILE',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const file = onlyPositional(parsed, 'FILE', 'name one, such as sluice.tar.gz')
    const { makeBackup } = await import('../../platform/backup/make-backup.ts')
    const bar = new ProgressBar(process.stderr, 'backup')
    const { bytes, clusters, wasRunning, changed } = await makeBackup({
      data: dataDirectoryOf(parsed),
      file,
      keys: !parsed.isSet('no-keys'),
      claims: parsed.isSet('claims'),
      now: Date.now(),
      onRead: bar.forLongWork,
    }).finally(() => bar.finish())
    if (changed !== '') console.error(changed)
    const how = wasRunning ? 'while it ran' : 'while nobody used it'
    console.log(`${file}: ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'}, ${sizeOf(bytes)}, copied ${how}.`)
    return 0
  },
}

function sizeOf(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
