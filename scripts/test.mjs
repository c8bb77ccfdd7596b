// `npm test [unit|contract|browser|integration|kubernetes …]`: installs what is missing and runs every suite.
// It ends with what failed, and a line that counts checks and tests over all of them: `N passed, N failed, N skipped`.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { buildEngineIfNeeded, buildPageIfNeeded, installIfNeeded, pinnedNode, root } from './install.mjs'
import { endDescendants } from './end-descendants.mjs'
import { installPythonClients } from './python-clients.mjs'

const bin = join(root, 'node_modules/.bin')
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
/** As long as Sluice takes at most to end its Pods, and some seconds. */
const endPatienceMs = 20_000
const totals = { passed: 0, failed: 0, skipped: 0 }
const failures = []
const asked = process.argv.slice(2)
/** Runs the words that follow in a network that has nothing but a loopback of its own. */
const inOwnNetwork = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

/** Once this program is told to end: it does so when what it waits for has ended. */
let ending
for (const [signal, code] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
  // What tests have started runs on without them.
  process.on(signal, () => void (ending ??= endDescendants(endPatienceMs).then(() => process.exit(code))))
}
installIfNeeded()
buildPageIfNeeded()
buildEngineIfNeeded()
if (asked.length === 0 || asked.some((name) => name !== 'kubernetes')) install(missingTestPrograms())
if (asked.includes('kubernetes')) install(missingNodePrograms())
if (asked.length === 0 || asked.some((name) => ['browser', 'integration', 'kubernetes'].includes(name)))
  fetchTestModel()
// It waits for a network more than for the machine, so other work goes on meanwhile.
const pythonClients = asked.length === 0 || asked.includes('integration') ? preparePythonClients() : undefined

if (asked.length === 0) {
  await Promise.all([
    check('types', 'tsc', ['--noEmit', '-p', 'tsconfig.json']),
    check('types of the page', 'tsc', ['--noEmit', '-p', 'web/tsconfig.json']),
    check('lint', 'oxlint', ['--type-aware', '--deny-warnings']),
    check('format', 'oxfmt', ['--check']),
  ])
}
if (asked.length > 0) {
  await pythonClients
  await suites([asked])
} else {
  // Unit tests keep all cores busy. The others wait for servers most of the time.
  await suites([['unit']])
  await pythonClients
  // A browser ends its connections when a network comes or goes, as it does in the integration tests.
  if (mayHaveOwnNetwork()) await suites([['integration'], ['contract', 'browser']])
  else await suites([['browser', 'integration'], ['contract']])
}

for (const failure of failures) console.log(`\nFAILED  ${failure}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exit(totals.failed > 0 ? 1 : 0)

/** Its output is shown when it has ended, because others run at the same time. */
async function check(name, program, args) {
  const child = spawn(join(bin, program), args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const [status] = await once(child, 'close')
  await ending
  totals[status === 0 ? 'passed' : 'failed'] += 1
  if (status !== 0) failures.push(name)
  process.stdout.write(Buffer.concat(output))
  console.log(`${status === 0 ? 'ok' : 'FAILED'}  ${name}`)
}

/**
 * Runs rows of projects at the same time, each row one after the other. The output of the first row is shown live, that
 * of the others when all have ended.
 */
async function suites(rows) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  const inTurn = async (projects, later) => {
    for (const project of projects) await suite(project, folder, later)
  }
  await Promise.all(rows.map((projects, index) => inTurn(projects, index > 0)))
  for (const project of rows.slice(1).flat()) process.stdout.write(readFileSync(join(folder, `${project}.log`)))
  rmSync(folder, { recursive: true, force: true })
}

async function suite(project, folder, later) {
  const report = join(folder, `${project}.json`)
  const hooks = join(folder, `${project}-hooks.jsonl`)
  const reporters = ['default', 'json', join(root, 'scripts/failed-hooks.mjs')].map((name) => `--reporter=${name}`)
  const args = ['run', '--project', project, ...reporters, `--outputFile.json=${report}`]
  const output = later ? openSync(join(folder, `${project}.log`), 'w') : undefined
  const words = [pinnedNode, join(root, 'node_modules/vitest/vitest.mjs'), ...args]
  const [program, ...rest] = project === 'browser' && mayHaveOwnNetwork() ? [...inOwnNetwork, ...words] : words
  const child = spawn(program, rest, {
    cwd: root,
    env: { ...env, SLUICE_FAILED_HOOKS: hooks },
    stdio: ['ignore', output ?? 'inherit', output ?? 'inherit'],
    // A terminal's Ctrl-C comes to this program alone, which ends what tests have started before them.
    detached: true,
  })
  const [status] = await once(child, 'exit')
  await ending
  if (output !== undefined) closeSync(output)
  if (!existsSync(report)) {
    totals.failed += 1
    failures.push(`${project}: ended with ${status} and without a report`)
    return
  }
  const counts = JSON.parse(readFileSync(report, 'utf8'))
  totals.passed += counts.numPassedTests
  totals.failed += counts.numFailedTests
  totals.skipped += counts.numPendingTests + counts.numTodoTests
  failures.push(...failuresIn(project, counts.testResults), ...failedHooksIn(project, hooks))
  // A file that cannot be loaded, or an error outside a test, makes the run fail without a failed test.
  if (status !== 0 && counts.numFailedTests === 0) totals.failed += 1
}

/** Whether a suite can have a network that others do not change. */
function mayHaveOwnNetwork() {
  const [program, ...words] = [...inOwnNetwork, 'true']
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0
}

/** Each test that failed, and each file that failed without one, with the beginning of what it said. */
function failuresIn(project, files) {
  return files.flatMap((file) => {
    const name = `${project}: ${relative(root, file.name)}`
    const failed = file.assertionResults.filter((test) => test.status === 'failed')
    if (failed.length === 0) return file.status === 'failed' ? [`${name}\n${beginning(file.message)}`] : []
    return failed.map((test) => `${name} > ${test.fullName}\n${test.failureMessages.map(beginning).join('\n')}`)
  })
}

/** What Vitest's report of tests does not say: a suite that could not be prepared, so that its tests were skipped. */
function failedHooksIn(project, path) {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line) => {
    const { file, suite, message } = JSON.parse(line)
    return `${project}: ${relative(root, file)} > ${suite}\n${beginning(message)}`
  })
}

function beginning(message) {
  return message.split('\n').slice(0, 12).join('\n').slice(0, 2_000)
}

/** A browser for the end-to-end tests, the programs that Pod networks need, and those that people use Sluice with. */
function missingTestPrograms() {
  const missing = []
  if (!['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].some((path) => existsSync(path)))
    missing.push('chromium', 'fonts-liberation')
  if (!onPath('curl')) missing.push('curl')
  if (!onPath('nft')) missing.push('nftables')
  if (!onPath('ip')) missing.push('iproute2')
  if (!onPath('pasta')) missing.push('passt')
  if (!onPath('zsh')) missing.push('zsh')
  if (!onPath('fish')) missing.push('fish')
  if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) missing.push('python3-pip')
  return missing
}

/** What a node of a real Kubernetes runs containers with. */
function missingNodePrograms() {
  if (!existsSync(join(process.env.KUBEBUILDER_ASSETS ?? '', 'kubelet'))) return []
  const programs = {
    containerd: 'containerd',
    runc: 'runc',
    iptables: 'iptables',
    ip: 'iproute2',
    conntrack: 'conntrack',
  }
  const missing = Object.entries(programs).flatMap(([program, name]) => (onPath(program) ? [] : [name]))
  return existsSync('/usr/lib/cni/bridge') ? missing : [...missing, 'containernetworking-plugins']
}

/** Installs programs from Debian's packages, if we may. Without them, tests that need them are skipped by name. */
function install(missing) {
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

/** Installs the Python libraries that ask models in the tests, once per machine. */
async function preparePythonClients() {
  const failure = await installPythonClients()
  if (failure !== undefined)
    console.log(`The Python libraries could not be installed: the tests that need them are skipped. ${failure}`)
}
