import { SluiceError } from '../foundation/errors.ts'

/** What a command ends with; docs/reference/command-line.md has the same table. */
export const exitCodes = {
  0: 'It is done.',
  1: 'It failed, or what was looked at needs attention.',
  2: 'The words of the command, or what they name, are wrong; nothing was changed.',
  3: 'Something has no counterpart (`sluice model import`), or the service does not run (`sluice service status`).',
  4: 'Nothing runs there, or it cannot be reached.',
  5: 'It did not happen in time; it may still do.',
  130: 'Ctrl-C ended it.',
} as const

export type ExitCode = keyof typeof exitCodes

const unreachableCodes: readonly string[] = ['cluster_unreachable', 'gateway_unreachable', 'nothing_runs']

/** The exit code for an error that a command ends with. */
export function exitCodeOf(error: unknown): ExitCode {
  // What Ctrl-C aborts says nothing else; deadlines are a TimeoutError.
  if (error instanceof Error && error.name === 'AbortError') return 130
  if (!(error instanceof SluiceError)) return 1
  if (unreachableCodes.includes(error.code)) return 4
  if (error.status === 504) return 5
  return error.status < 500 ? 2 : 1
}
