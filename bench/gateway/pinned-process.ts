import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Starts a process on these cores. Its output goes to a file if one is given, and otherwise can be read with
 * `firstLine`.
 */
export function spawnPinned(
  cores: string,
  command: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly outputFile?: string } = {},
): ChildProcess {
  const file = options.outputFile === undefined ? undefined : openSync(options.outputFile, 'a')
  const child = spawn('taskset', ['-c', cores, command, ...args], {
    stdio: ['ignore', file ?? 'pipe', file ?? 'inherit'],
    env: { ...process.env, ...options.env },
  })
  if (file !== undefined) closeSync(file)
  return child
}

export async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no output')
  const lines = createInterface(child.stdout)
  const [line] = await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(30_000) }),
    once(lines, 'close').then(() => Promise.reject(new Error('it ended without a word'))),
  ])
  return String(line)
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const overdue = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exited
  clearTimeout(overdue)
}

/** Waits until the process accepts connections. */
export async function listening(child: ChildProcess, port: number, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
    if (performance.now() > deadline) {
      await stopChild(child)
      throw new Error('it does not listen')
    }
    await delay(50)
  }
}

/** A process and those that it started, from any of its threads. */
export function withChildren(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const listed = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'))
    const children = listed.join(' ').split(' ').filter(Boolean).map(Number)
    return [pid, ...children.flatMap(withChildren)]
  } catch {
    return [pid]
  }
}

export function installed(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v "$0"`, command]).status === 0
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
