import { version } from '../platform/version.ts'
import type { Command } from './command.ts'

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version.',
  flags: [],
  run() {
    console.log(version)
    return Promise.resolve(0)
  },
}
