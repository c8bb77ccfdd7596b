// `npm start -- FLAGS`: installs and builds what is missing, then becomes `sluice up FLAGS`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { buildPageIfNeeded, installIfNeeded, pinnedNode, root } from './install.mjs'

try {
  installIfNeeded()
  buildPageIfNeeded()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

// As bin/sluice does it.
const program = ['--max-semi-space-size=8', join(root, 'bin/sluice.mjs')]
const child = spawn(pinnedNode, [...program, 'up', ...process.argv.slice(2)], { stdio: 'inherit' })
// A terminal sends Ctrl-C to every process in the foreground: the child has it already, and we wait for its orderly
// end.
process.on('SIGINT', () => {})
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
