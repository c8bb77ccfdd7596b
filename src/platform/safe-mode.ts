import type { Logger } from '../foundation/log.ts'
import type { DataDirectory } from './data/data-directory.ts'
import { examineContent } from './doctor/examine-directory.ts'

/**
 * What a person should read when the program starts in safe mode: why, what was found, and how to go on. The log gets
 * it, too.
 */
export function safeModeNotes(of: {
  readonly directory: DataDirectory
  readonly crashes: number
  readonly now: number
  readonly log: Logger
}): readonly string[] {
  const { directory, crashes, now, log } = of
  const why = crashes === 0 ? 'as it was asked to' : `because the last ${crashes} starts crashed`
  const { findings } = examineContent(directory.root, now)
  log.warn({ crashes, findings }, 'sluice starts in safe mode: the API is served, no Pod is started')
  const found = findings.flatMap(({ what, advice }) => [`- ${what}`, `  ${advice}`])
  return [
    `SAFE MODE, ${why}: the Kubernetes API is served, but no Pod is started, no model is woken, and no`,
    'controller acts. What was found:',
    ...(found.length > 0 ? found : ['- Nothing unusual; logs/sluice.log may say more.']),
    'Change or delete with kubectl what is at fault, then stop and start again; `--no-safe-mode` starts as usual at once.',
    '',
  ]
}
