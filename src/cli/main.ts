#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { runCommandLine } from './command-line.ts'
import { runProgram } from './run-command.ts'

// For when the program was not started by bin/sluice.mjs, which does this, too.
enableCompileCache()

await runProgram(() => runCommandLine(process.argv.slice(2)))
