import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { firstSize, followTerminalSize, terminalCommand } from './exec-terminal.ts'
import type { Isolation } from './isolation/detect-isolation.ts'
import { enteringCommand, plainCommand } from './isolation/isolated-command.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import type { ContainerRecord } from './pod-records.ts'
import { ContainerRefused, type ExecResult, type ExecStreams } from './pod-runtime.ts'
import { environmentOf, sendSignal, signalProcess } from './process-identity.ts'
import type { ProcessSearch } from './process-search.ts'
import { replaceMountPaths } from './volume-mounts.ts'

const shell = '/bin/sh'
/** Tells the processes of one exec from all others, wherever they put themselves. */
const markName = 'SLUICE_EXEC_ID'

/** Runs a program where a container's own program runs: in its namespaces, with its variables, limits and folder. */
export async function execInContainer(
  container: ContainerRecord,
  { isolation, search }: { readonly isolation: Isolation; readonly search: ProcessSearch },
  words: readonly string[],
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<ExecResult> {
  if (container.isolated && isolation.mode !== 'namespaces') {
    throw new ContainerRefused('RunContainerError', 'the container has namespaces, which cannot be entered any more')
  }
  const told = words.map((word) => replaceMountPaths(word, container.mounts))
  // Inside of the namespaces: a shell can only have a terminal whose session is one it sees.
  const sizes = streams.terminal && (await firstSize(streams.terminal))
  const program = sizes ? terminalCommand(told, sizes.first) : told
  const command =
    container.isolated && isolation.mode === 'namespaces'
      ? enteringCommand(isolation.tools, container, container.workingDir, program)
      : program
  const groups = container.cgroups.map((folder) => join(folder, 'cgroup.procs'))
  const [first = '', ...rest] = plainCommand(shell, groups, command)
  const mark = `${markName}=${randomUUID()}`
  const env = { ...(container.env ?? environmentOf(container.pid)), [markName]: mark.slice(markName.length + 1) }
  const { stdin, stdout, stderr, terminal } = streams
  const child = spawn(first, rest, {
    cwd: container.isolated ? '/' : container.workingDir,
    env: terminal ? { TERM: 'xterm', ...env, SHELL: shell } : env,
    stdio: [stdin ? 'pipe' : 'ignore', stdout ? 'pipe' : 'ignore', stderr || terminal ? 'pipe' : 'ignore'],
    detached: true,
  })
  const over = linkSignals(signal)
  if (sizes) void followTerminalSize(sizes.later, () => search.find([mark]), over.signal)
  try {
    return await resultOf(child, terminal ? { stdin, stdout, stderr: stdout } : streams, { mark, search }, signal)
  } finally {
    over.release()
    over.abort(new Error('it has ended'))
  }
}

function resultOf(
  child: ChildProcess,
  streams: ExecStreams,
  { mark, search }: { readonly mark: string; readonly search: ProcessSearch },
  signal: AbortSignal,
): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const kill = () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        sendSignal(-child.pid, 'SIGKILL')
      }
      // What it started may have left the group, as the program of a terminal has; and may hold its output open.
      void search.find([mark]).then((left) => left.forEach((process) => signalProcess(process, 'SIGKILL')))
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill, { once: true })
    forward(child.stdout, streams.stdout)
    forward(child.stderr, streams.stderr)
    const { stdin } = child
    if (stdin && streams.stdin) {
      // A program may end, or close its input, without reading everything it is sent: the rest goes nowhere.
      stdin.on('error', () => {})
      stdin.once('close', () => streams.stdin?.unpipe(stdin).resume())
      streams.stdin.on('error', kill)
      streams.stdin.pipe(stdin)
    }
    child.once('error', (error) => {
      signal.removeEventListener('abort', kill)
      reject(new ContainerRefused('RunContainerError', `cannot run the program: ${error.message}`, { cause: error }))
    })
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', kill)
      resolve(code === null ? { exitCode: 137, signal: killedBy ?? 'SIGKILL' } : { exitCode: code })
    })
  })
}

function forward(from: ChildProcess['stdout'], to: Writable | undefined): void {
  if (!from) return
  if (!to) return void from.resume()
  // A client that left takes nothing more; the program must not be held up by that.
  to.on('error', () => from.resume())
  to.on('close', () => from.resume())
  from.pipe(to, { end: false })
}
