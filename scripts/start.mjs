// `npm start -- FLAGS`: installs and builds what is missing, then runs `sluice up FLAGS`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { buildEngineIfNeeded, buildPageIfNeeded, installIfNeeded, root } from './install.mjs'

try {
  installIfNeeded()
  buildPageIfNeeded()
  buildEngineIfNeeded()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

const child = spawn(join(root, 'bin/sluice'), ['up', ...process.argv.slice(2)], { stdio: 'inherit' })
// It may have come to the child, too, such as a terminal's Ctrl-C: that takes it for one. We wait for it to end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
