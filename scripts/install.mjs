// Installs what is missing, with whatever Node the machine has. Everything after it runs on the Node that package.json
// pins.
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtEngine } from '../bin/built-engine.mjs'

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

/** Builds the chat page and the console, each unless its last build is newer than all of its sources. */
export function buildPageIfNeeded() {
  buildIfNeeded('the chat page', 'web', ['web/src', 'web/index.html', 'web/vite.config.ts'])
  // It shares some of the chat page's sources, and takes the shapes of what it is sent from the server's.
  const shared = ['web/src/view', 'web/src/protocol', 'web/src/styles', 'src/management/console/console-shapes.ts']
  const own = ['src', 'index.html', 'vite.config.ts'].map((name) => join('web/console', name))
  buildIfNeeded('the console', 'web/console', [...own, ...shared])
}

function buildIfNeeded(what, folder, sources) {
  const built = join(root, folder, 'dist/index.html')
  const newestSource = Math.max(...[...sources, 'package-lock.json'].map((path) => newest(join(root, path))))
  if (existsSync(built) && newestSource <= statSync(built).mtimeMs) return
  console.log(`Building ${what}…`)
  run(pinnedNode, [join(root, 'node_modules/vite/bin/vite.js'), 'build', folder, '--logLevel', 'warn'])
}

/** Builds the engine's program unless the last build is newer than all of its sources. */
export function buildEngineIfNeeded() {
  if (builtEngine() === undefined) run(pinnedNode, [join(root, 'scripts/build-engine.ts')])
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
