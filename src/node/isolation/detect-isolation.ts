import { accessSync, constants, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { sendSignal } from '../processes/process-identity.ts'
import { grantedCapabilities } from '../security/capabilities.ts'
import { rightsSteps } from '../security/rights-steps.ts'
import { removeFolder } from '../volumes/remove-folder.ts'
import { containerEntry } from './container-entry.ts'
import type { ContainerScript } from './container-script.ts'
import { ContainerShell } from './container-shell.ts'
import { viewSteps } from './container-view.ts'
import { type NamespaceTools, namespaceCommand } from './isolated-command.ts'

/**
 * How this node separates Pods: in their own namespaces, or only by replacing mount paths in commands and variables.
 */
export type Isolation =
  | { readonly mode: 'namespaces'; readonly tools: NamespaceTools }
  | { readonly mode: 'paths'; readonly reason: string }

export type IsolationChoice = 'detect' | 'namespaces' | 'paths'

const places = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
const deadlineMs = 10_000
/**
 * An attempt that was ended by a signal says nothing of the machine, but that it was too busy; and what is found here
 * holds for as long as this program runs.
 */
const mostAttempts = 3
/** A mount point inside the machine's program folders, which needs layers, and one outside. */
const tryPlaces = { layered: '/usr/sluice-namespace-try', plain: '/sluice-namespace-try' }

/** Tries out in `folder` what containers need, and relies only on what worked. */
export async function detectIsolation(folder: string, choice: IsolationChoice): Promise<Isolation> {
  if (choice === 'paths') return { mode: 'paths', reason: 'namespaces are turned off' }
  const tools = findTools()
  const tried = typeof tools === 'string' ? tools : await tryBoth(folder, tools)
  if (typeof tried !== 'string') return { mode: 'namespaces', tools: tried }
  if (choice === 'namespaces') throw new Error(`this machine does not permit namespaces: ${tried}`)
  return { mode: 'paths', reason: tried }
}

async function tryBoth(folder: string, tools: NamespaceTools): Promise<NamespaceTools | string> {
  const layered = await tryOut(folder, tools, tryPlaces.layered)
  if (layered === undefined) return { ...tools, layers: true }
  return (await tryOut(folder, tools, tryPlaces.plain)) ?? tools
}

/** Returns why it does not work, if it does not. */
async function tryOut(folder: string, tools: NamespaceTools, mountPath: string): Promise<string | undefined> {
  let found: Attempt | undefined
  for (let attempt = 0; attempt < mostAttempts && (found === undefined || found.wasCut); attempt++) {
    found = await tryOnce(folder, tools, mountPath)
  }
  return found?.reason
}

interface Attempt {
  /** Why it did not work, if it did not. */
  readonly reason: string | undefined
  /** Whether it ended before it was over. */
  readonly wasCut: boolean
}

async function tryOnce(folder: string, tools: NamespaceTools, mountPath: string): Promise<Attempt> {
  mkdirSync(folder, { recursive: true })
  const stage = mkdtempSync(join(folder, 'try-'))
  try {
    for (const name of ['data', 'root']) mkdirSync(join(stage, name))
    const data = join(stage, 'data')
    writeFileSync(join(data, 'file'), '')
    // Checks that the volume is mounted read-only, that the shell has its own PID namespace, that the machine's folder
    // is hidden, that no capabilities are left, and that SIGTERM reaches it.
    const script = `
      trap 'exit 42' TERM
      [ -f ${mountPath}/file ] && ! (: >${mountPath}/written) 2>/dev/null && [ -d /proc/self ] && [ $$ -lt 10 ] || exit 1
      [ ! -e ${data} ] && grep -q '^CapEff:.*0000000000000000$' /proc/self/status || exit 2
      echo ready
      while :; do sleep 1 & wait $!; done`
    const user = { uid: 65_534, gid: 65_534 }
    const nothing = grantedCapabilities({ drop: ['ALL'] }, true)
    const rights = {
      ...user,
      groups: [],
      capabilities: 'granted' in nothing ? nothing.granted : [],
      noNewPrivileges: true,
      filterCalls: true,
    }
    const view = viewSteps({
      base: { kind: 'machine', visible: [] },
      own: stage,
      mounts: [{ mountPath, folder: data, root: data, readOnly: true }],
      readOnlyRoot: true,
      cards: [],
      groups: [],
      covered: [],
      workingDir: '/',
      asUser: tools.asUser,
    })
    const entry = containerEntry({
      users: tools.asUser ? user : undefined,
      cgroups: [],
      sysctls: [],
      view,
      workingDir: '/',
      env: { PATH: places.join(':') },
      rights: rightsSteps(rights, tools.machine, tools.asUser),
      words: ['sh', '-c', script],
      exitFile: join(stage, 'exit'),
    })
    return await runTry(tools, entry, stage)
  } catch (error) {
    return { reason: errorMessage(error), wasCut: false }
  } finally {
    await removeFolder(stage)
  }
}

async function runTry(tools: NamespaceTools, script: ContainerScript, owner: string): Promise<Attempt> {
  const shell = new ContainerShell(namespaceCommand(tools, owner), {}, { output: 'pipe' })
  const { child } = shell
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  const kill = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined) sendSignal(-child.pid, signal)
  }
  const timer = setTimeout(() => kill('SIGKILL'), deadlineMs)
  try {
    // Once: whatever is said later, such as of what the signal ended, is said by a process that ends.
    child.stdout?.once('data', () => kill('SIGTERM'))
    const report = await shell.run(script, systemClock)
    const end = await ended
    if (end === 42) return { reason: undefined, wasCut: false }
    return { reason: report || `the attempt ended with ${end}`, wasCut: typeof end === 'string' }
  } finally {
    clearTimeout(timer)
  }
}

function findTools(): NamespaceTools | string {
  if (process.platform !== 'linux') return 'namespaces exist on Linux only'
  const { arch } = process
  if (arch !== 'x64' && arch !== 'arm64') return `nothing is known about ${arch}`
  const perl = findProgram('perl')
  if (perl === undefined) return 'perl is missing'
  const asUser = process.getuid?.() !== 0
  // A program in a container could modify it, and with it the setup of the next container.
  if (asUser && statSync(perl).uid === process.getuid?.()) return `${perl} belongs to this user`
  return { perl, machine: arch, asUser, layers: false }
}

export function findProgram(name: string): string | undefined {
  return places.map((place) => join(place, name)).find(isExecutable)
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
