import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import { layOutRoot } from './container-root.ts'
import { type NamespaceTools, isolatedCommand } from './isolated-command.ts'

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
    const laidOut = layOutRoot(join(stage, 'root'), [{ mountPath, folder: data, root: data, readOnly: true }])
    writeFileSync(table, laidOut.table)
    const checks = join(stage, 'checks')
    writeFileSync(checks, laidOut.checks)
    // Mounted, read-only, first of its PID namespace but one, and asked to end rather than killed.
    const script = `
      trap 'exit 42' TERM
      [ -f ${mountPath}/file ] && ! (: >${mountPath}/written) 2>/dev/null && [ -d /proc/self ] && [ $$ -lt 10 ] || exit 1
      echo ready
      while :; do sleep 1 & wait $!; done`
    const words = [tools.sh, '-c', script]
    return await runTry(
      isolatedCommand(tools, { root: laidOut.root, table, checks, workingDir: '/', cgroups: [], words }),
    )
  } catch (error) {
    return errorMessage(error)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function runTry([file = '', ...args]: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'ignore'],
      detached: true,
      env: { PATH: places.join(':') },
    })
    let said = ''
    const kill = (signal: NodeJS.Signals) => {
      try {
        process.kill(-(child.pid ?? 0), signal)
      } catch {
        // It has ended by itself.
      }
    }
    const timer = setTimeout(() => kill('SIGKILL'), deadlineMs)
    const listen = (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, 1000))
    child.stderr?.on('data', listen)
    child.stdio[3]?.on('data', listen)
    child.stdout?.on('data', () => kill('SIGTERM'))
    child.once('error', (error) => {
      clearTimeout(timer)
      resolve(error.message)
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 42) return resolve(undefined)
      resolve(said.trim().replaceAll('\n', '; ') || `the attempt ended with ${code ?? signal}`)
    })
  })
}

function findTools(): NamespaceTools | string {
  const found = ['sh', 'unshare', 'nsenter', 'mount', 'umount', 'pivot_root', 'stat'].map(
    (name) => [name, find(name)] as const,
  )
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name)
  if (missing.length > 0) return `these programs are missing: ${missing.join(', ')}`
  const [sh = '', unshare = '', nsenter = '', mount = '', umount = '', pivotRoot = '', stat = ''] = found.map(
    ([, path]) => path ?? '',
  )
  return { sh, unshare, nsenter, mount, umount, pivotRoot, stat, asUser: process.getuid?.() !== 0 }
}

function find(name: string): string | undefined {
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
