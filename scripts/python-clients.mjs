// The Python libraries that people ask models with, for the tests in tests/clients: installed once per machine and list
// of versions, into a folder of their own, because many systems refuse to add libraries to their own Python.
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const requirements = fileURLToPath(new URL('../tests/clients/requirements.txt', import.meta.url))
const patienceMs = 10 * 60_000

/** Where the libraries are, or will be; undefined where there is no Python. */
export function pythonClientsPlace() {
  const question = 'import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())'
  const asked = spawnSync('python3', ['-c', question], { encoding: 'utf8', timeout: 30_000 })
  if (asked.status !== 0) return undefined
  // Libraries with compiled parts work with the Python only that they were installed for.
  const key = createHash('sha256').update(readFileSync(requirements)).update(asked.stdout).digest('hex').slice(0, 16)
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice', 'test-clients', key)
}

/** The folder for PYTHONPATH, if the libraries are there. */
export function pythonClients() {
  const place = pythonClientsPlace()
  return place !== undefined && existsSync(place) ? place : undefined
}

/** Installs the libraries unless they are there. Resolves with why it could not, if so. */
export async function installPythonClients() {
  const place = pythonClientsPlace()
  if (place === undefined) return 'there is no python3'
  if (existsSync(place)) return undefined
  // Others may install at the same time: each has a folder of its own, and the first to be ready wins.
  const scratch = `${place}.${randomUUID()}`
  mkdirSync(dirname(place), { recursive: true })
  try {
    const failure = await runPip(scratch)
    if (failure !== undefined) return failure
    if (!existsSync(place)) renameSync(scratch, place)
    return undefined
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The list names all libraries that are needed, so that pip has nothing to find out. */
async function runPip(folder) {
  const words = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-deps', '--no-compile', '--retries', '1']
  const args = ['-m', 'pip', 'install', ...words, '--only-binary', ':all:', '--target', folder, '-r', requirements]
  const child = spawn('python3', args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: patienceMs })
  let said = ''
  child.stderr.on('data', (chunk) => (said = (said + chunk).slice(-2_000)))
  const [code] = await once(child, 'close')
  return code === 0 ? undefined : (said.trim().split('\n').at(-1) ?? `pip ended with ${code}`)
}
