// `npm test [unit|contract|integration|kubernetes …]`: installs what is missing and runs every suite.
// The last line counts checks and tests over all of them: `N passed, N failed, N skipped`.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { buildPageIfNeeded, installIfNeeded, pinnedNode, root } from './install.mjs'

const bin = join(root, 'node_modules/.bin')
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
const totals = { passed: 0, failed: 0, skipped: 0 }
const asked = process.argv.slice(2)

installIfNeeded()
buildPageIfNeeded()
if (asked.length === 0 || asked.some((name) => name !== 'kubernetes')) installTestPrograms()
if (asked.length === 0 || asked.includes('integration')) fetchTestModel()

if (asked.length === 0) {
  check('types', 'tsc', ['--noEmit', '-p', 'tsconfig.json'])
  check('types of the page', 'tsc', ['--noEmit', '-p', 'web/tsconfig.json'])
  check('lint', 'oxlint', ['--type-aware', '--deny-warnings'])
  check('format', 'prettier', ['--check', '--log-level', 'warn', '.'])
}
if (asked.length > 0) for (const project of asked) await suites([project])
else {
  // Unit tests keep all cores busy. The others wait for servers most of the time, one test after the other.
  await suites(['unit'])
  await suites(['integration', 'contract'])
}

console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exit(totals.failed > 0 ? 1 : 0)

function check(name, program, args) {
  const result = spawnSync(join(bin, program), args, { cwd: root, env, stdio: 'inherit' })
  const passed = result.status === 0
  totals[passed ? 'passed' : 'failed'] += 1
  console.log(`${passed ? 'ok' : 'FAILED'}  ${name}`)
}

/** Runs projects at the same time. The output of the first is shown live, that of the others when all have ended. */
async function suites(projects) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  await Promise.all(projects.map((project, index) => suite(project, folder, index > 0)))
  for (const project of projects.slice(1)) process.stdout.write(readFileSync(join(folder, `${project}.log`)))
  rmSync(folder, { recursive: true, force: true })
}

async function suite(project, folder, later) {
  const report = join(folder, `${project}.json`)
  const args = ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const output = later ? openSync(join(folder, `${project}.log`), 'w') : undefined
  const child = spawn(pinnedNode, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: root,
    env,
    stdio: ['inherit', output ?? 'inherit', output ?? 'inherit'],
  })
  const [status] = await once(child, 'exit')
  if (output !== undefined) closeSync(output)
  if (!existsSync(report)) {
    totals.failed += 1
    return
  }
  const counts = JSON.parse(readFileSync(report, 'utf8'))
  totals.passed += counts.numPassedTests
  totals.failed += counts.numFailedTests
  totals.skipped += counts.numPendingTests + counts.numTodoTests
  // A file that cannot be loaded, or an error outside a test, makes the run fail without a failed test.
  if (status !== 0 && counts.numFailedTests === 0) totals.failed += 1
}

/**
 * Installs a browser for the end-to-end tests and the programs that Pod networks need from Debian's packages, if we
 * may. Without them, those tests are skipped by name.
 */
function installTestPrograms() {
  const missing = []
  if (!['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].some((path) => existsSync(path)))
    missing.push('chromium', 'fonts-liberation')
  if (!onPath('curl')) missing.push('curl')
  if (!onPath('nft')) missing.push('nftables')
  if (!onPath('ip')) missing.push('iproute2')
  if (!onPath('pasta')) missing.push('passt')
  if (missing.length === 0 || process.getuid?.() !== 0 || !onPath('apt-get')) return
  console.log(`Installing ${missing.join(', ')} for the tests…`)
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  spawnSync('apt-get', ['update', '-qq'], quiet)
  for (const name of missing) spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], quiet)
}

function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
}

/** Downloads the real model for the engine and end-to-end tests, once per machine. */
function fetchTestModel() {
  const result = spawnSync(pinnedNode, [join(root, 'src/cli/main.ts'), 'model', 'pull', 'smollm2', '--cache-only'], {
    cwd: root,
    stdio: 'inherit',
  })
  if (result.status !== 0) console.log('SmolLM2 could not be fetched: the tests that need it are skipped.')
}
