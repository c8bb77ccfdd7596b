import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { layOutRoot } from './container-root.ts'
import { type ContainerProgram, containerScript } from './container-script.ts'
import { ContainerShell } from './container-shell.ts'
import { type NamespaceTools, namespaceCommand } from './isolated-command.ts'
import { sendSignal } from '../process-identity.ts'

/** How this node keeps Pods apart: in namespaces of their own, or only by replacing mount paths in what they are told. */
export type Isolation =
  { readonly mode: 'namespaces'; readonly tools: NamespaceTools } | { readonly mode: 'paths'; readonly reason: string }

export type IsolationChoice = 'detect' | 'namespaces' | 'paths'

const places = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
const deadlineMs = 10_000

/** Tries out, in `folder`, what a container needs: only what really worked is relied on. */
export async function detectIsolation(folder: string, choice: IsolationChoice): Promise<Isolation> {
  if (choice === 'paths') return { mode: 'paths', reason: 'namespaces are turned off' }
  const tools = process.platform === 'linux' ? findTools() : 'namespaces exist on Linux only'
  const reason = typeof tools === 'string' ? tools : await tryOut(folder, tools)
  if (typeof tools !== 'string' && reason === undefined) return { mode: 'namespaces', tools }
  if (choice === 'namespaces') throw new Error(`this machine does not permit namespaces: ${reason}`)
  return { mode: 'paths', reason: reason ?? '' }
}

/** The sentence that says why not, if not. */
async function tryOut(folder: string, tools: NamespaceTools): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true })
  const stage = mkdtempSync(join(folder, 'try-'))
  try {
    const data = join(stage, 'data')
    mkdirSync(data)
    writeFileSync(join(data, 'file'), '')
    const mountPath = '/sluice-namespace-try/data'
    const table = join(stage, 'table')
    const laidOut = await layOutRoot(join(stage, 'root'), [{ mountPath, folder: data, root: data, readOnly: true }])
    writeFileSync(table, laidOut.table)
    // Mounted, read-only, first of its PID namespace but one, and asked to end rather than killed.
    const script = `
      trap 'exit 42' TERM
      [ -f ${mountPath}/file ] && ! (: >${mountPath}/written) 2>/dev/null && [ -d /proc/self ] && [ $$ -lt 10 ] || exit 1
      echo ready
      while :; do sleep 1 & wait $!; done`
    const exitFile = join(stage, 'exit')
    const env = { PATH: places.join(':') }
    return await runTry(tools, {
      view: { laidOut, table, tools },
      envTool: tools.env,
      workingDir: '/',
      cgroups: [],
      words: [tools.sh, '-c', script],
      env,
      exitFile,
    })
  } catch (error) {
    return errorMessage(error)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

async function runTry(tools: NamespaceTools, program: ContainerProgram): Promise<string | undefined> {
  const shell = new ContainerShell(namespaceCommand(tools, program.exitFile), {}, 'pipe')
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
    child.stdout?.on('data', () => kill('SIGTERM'))
    const report = await shell.run(containerScript(program), systemClock)
    const end = await ended
    if (end === 42) return undefined
    return report || `the attempt ended with ${end}`
  } finally {
    clearTimeout(timer)
  }
}

function findTools(): NamespaceTools | string {
  const found = ['sh', 'unshare', 'nsenter', 'mount', 'umount', 'pivot_root', 'stat', 'env'].map(
    (name) => [name, findProgram(name)] as const,
  )
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name)
  if (missing.length > 0) return `these programs are missing: ${missing.join(', ')}`
  const [sh = '', unshare = '', nsenter = '', mount = '', umount = '', pivotRoot = '', stat = '', env = ''] = found.map(
    ([, path]) => path ?? '',
  )
  return { sh, unshare, nsenter, mount, umount, pivotRoot, stat, env, asUser: process.getuid?.() !== 0 }
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
