// `sluice serve` by itself: what scripts/build-engine.ts makes one file of.
import { runCommand, runProgram } from '../run-command.ts'
import { serveCommand } from './serve.ts'

void runProgram(() => runCommand(serveCommand, process.argv.slice(3)))
