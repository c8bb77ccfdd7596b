import { SluiceError } from '../foundation/errors.ts'
import type { Command } from './command.ts'
import { exitCodeOf } from './exit-codes.ts'
import { renderCommandHelp } from './help.ts'
import { terminalColumns } from './output/wrapped-text.ts'

/** Runs a command with the words after its name, or says what they could be. */
export function runCommand(command: Command, words: readonly string[]): Promise<number> {
  if (!asksForHelp(words)) return command.run(words)
  console.log(renderCommandHelp(command, terminalColumns(process.stdout)))
  return Promise.resolve(0)
}

/** What comes after `--` is not ours to understand. */
export function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end < 0 ? undefined : end).some((word) => word === '--help' || word === '-h')
}

/** What the machine refuses, such as a full disk, and not this program. */
function isOfTheSystem(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false
  return 'syscall' in error || error.code === 'ERR_SQLITE_ERROR'
}

/** The whole of a program: what `run` resolves with becomes its exit code, and a failure is shown. */
export async function runProgram(run: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await run()
  } catch (error) {
    // Whoever interrupts a program knows why it ends.
    process.exitCode = exitCodeOf(error)
    if (process.exitCode === 130) return
    // Errors that the user can act on are one line. Anything else is a bug, and shows its stack.
    console.error(error instanceof SluiceError || isOfTheSystem(error) ? `sluice: ${error.message}` : error)
  }
}
