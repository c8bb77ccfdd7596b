#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { SluiceError } from '../foundation/errors.ts'
import { commands, findCommand } from './commands.ts'
import { renderCommandHelp, renderHelp } from './help.ts'

// For when the program was not started by bin/sluice.mjs, which does this, too.
enableCompileCache()

const args = process.argv.slice(2)
try {
  process.exitCode = await runCommandLine(args)
} catch (error) {
  // Errors that the user can act on are one line. Anything else is a bug, and shows its stack.
  console.error(error instanceof SluiceError ? `sluice: ${error.message}` : error)
  process.exitCode = error instanceof SluiceError && error.status < 500 ? 2 : 1
}

async function runCommandLine(words: readonly string[]): Promise<number> {
  const [first] = words
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    console.log(renderHelp(commands))
    return 0
  }
  const found = findCommand(words)
  if (!found) throw new SluiceError('unknown_command', { command: words.slice(0, 2).join(' ') })
  if (found.rest.includes('--help') || found.rest.includes('-h')) {
    console.log(renderCommandHelp(found.command))
    return 0
  }
  return found.command.run(found.rest)
}
