// Installs what is missing, with whatever Node the machine has. Everything after it runs on the Node that package.json
// pins.
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const pinnedNode = join(root, 'node_modules/node/bin/node')

/** Runs `npm ci` unless the last install was made from exactly this lockfile. */
export function installIfNeeded() {
  const stamp = join(root, 'node_modules/.sluice-install')
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(process.arch)
    .digest('hex')
  if (existsSync(stamp) && existsSync(pinnedNode) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('Installing dependencies (once, about a minute)…')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  if (!existsSync(pinnedNode)) {
    throw new Error('npm did not install the pinned Node. Allow its install script: npm ci --ignore-scripts=false')
  }
  writeFileSync(stamp, wanted)
}

/** Builds the chat page unless the last build is newer than all of its sources. */
export function buildPageIfNeeded() {
  const built = join(root, 'web/dist/index.html')
  const sources = ['web/src', 'web/index.html', 'web/vite.config.ts', 'package-lock.json'].map((path) =>
    join(root, path),
  )
  if (existsSync(built) && Math.max(...sources.map(newest)) <= statSync(built).mtimeMs) return
  console.log('Building the chat page…')
  run(pinnedNode, [join(root, 'node_modules/vite/bin/vite.js'), 'build', 'web', '--logLevel', 'warn'])
}

function newest(path) {
  if (!existsSync(path)) return 0
  const facts = statSync(path)
  if (!facts.isDirectory()) return facts.mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))))
}

function run(command, args) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (result.error) throw result.error
  if (result.status !== 0)
    throw new Error(`${command} ${args[0]} failed with exit code ${result.status ?? result.signal}`)
}
