import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type TerminalSize, firstSize, followTerminalSize, terminalCommand } from './exec-terminal.ts'
import type { Isolation } from '../isolation/detect-isolation.ts'
import { throughShell } from '../isolation/container-script.ts'
import { type EntryStep, entryMessage } from '../isolation/entry-steps.ts'
import {
  type NamespaceTools,
  enteredNamespaces,
  enteringCommand,
  plainCommand,
  plainTools,
} from '../isolation/isolated-command.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'
import type { ContainerRecord } from '../pods/pod-records.ts'
import { ContainerRefused, type ExecResult, type ExecStreams } from '../pod-runtime.ts'
import { environmentOf, sendSignal, signalProcess } from '../processes/process-identity.ts'
import type { ProcessSearch } from '../processes/process-search.ts'
import { rightsSteps } from '../security/rights-steps.ts'
import { replaceMountPaths } from '../volumes/volume-mounts.ts'

const shell = '/bin/sh'
/** Marks the processes of one exec, so that they are found even after they have left their process group. */
const markName = 'SLUICE_EXEC_ID'
/** The classic terminal size, used until the client tells its own. */
const usualSize: TerminalSize = { columns: 80, rows: 24 }

/**
 * Runs a program beside a container's own: in the same namespaces, with the same rights, variables, limits and working
 * directory.
 */
export async function execInContainer(
  container: ContainerRecord,
  { isolation, search }: { readonly isolation: Isolation; readonly search: ProcessSearch },
  words: readonly string[],
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<ExecResult> {
  const mark = `${markName}=${randomUUID()}`
  const marked = { ...(container.env ?? environmentOf(container.pid)), [markName]: mark.slice(markName.length + 1) }
  const { terminal } = streams
  const sizes = terminal && (await firstSize(terminal))
  const env = terminal ? { TERM: 'xterm', ...marked, ...(container.isolated ? {} : { SHELL: shell }) } : marked
  const over = linkSignals(signal)
  let child: ChildProcess
  if (container.isolated) {
    if (isolation.mode !== 'namespaces') {
      throw new ContainerRefused('RunContainerError', 'the container has namespaces, which cannot be entered any more')
    }
    child = enter(container, isolation.tools, { words, env, terminal: sizes?.first ?? (sizes && usualSize) }, streams)
    if (sizes) void tellSizes(sizes.later, child, over.signal)
  } else {
    child = runBeside(container, { words, env, first: sizes?.first }, streams)
    if (sizes) void followTerminalSize(sizes.later, () => search.find([mark]), over.signal)
  }
  try {
    return await resultOf(child, terminal ? { ...streams, stderr: streams.stdout } : streams, { mark, search }, signal)
  } finally {
    over.release()
    over.abort(new Error('it has ended'))
  }
}

interface Program {
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

function enter(
  container: ContainerRecord,
  tools: NamespaceTools,
  { words, env, terminal }: Program & { readonly terminal: TerminalSize | undefined },
  streams: ExecStreams,
): ChildProcess {
  const [first, ...rest] = enteringCommand(tools, container.exitFile)
  const child = spawn(first, rest, {
    cwd: '/',
    env: { [markName]: env[markName] ?? '' },
    stdio: [...outputs(streams), 'pipe'],
    detached: true,
  })
  const steps: EntryStep[] = [
    ...container.cgroups.map((folder): EntryStep => ['group', join(folder, 'cgroup.procs')]),
    ['enter', container.pid, ...enteredNamespaces(tools, container.network)],
    ...(container.cgroups.length > 0 ? ([['group-namespace']] as const) : []),
    ['directory', container.workingDir],
    ['variables', ...Object.entries(env).flat()],
    // Records of older versions have no rights; those containers ran with all of them.
    ...(container.rights ? rightsSteps(container.rights, tools.machine, tools.asUser) : []),
    ...(terminal ? ([['terminal', terminal.columns, terminal.rows]] as const) : []),
    ['program', ...words],
  ]
  const [, , , told] = child.stdio
  if (!(told instanceof Writable)) return child
  // A program that ends before it has read its input: its exit code says why.
  told.on('error', () => {})
  if (terminal) told.write(entryMessage(steps))
  else told.end(entryMessage(steps))
  return child
}

/** Without namespaces: runs a plain process of the machine, with mount paths replaced in its command. */
function runBeside(
  container: ContainerRecord,
  { words, env, first }: Program & { readonly first: TerminalSize | undefined },
  streams: ExecStreams,
): ChildProcess {
  const told = words.map((word) => replaceMountPaths(word, container.mounts))
  const groups = container.cgroups.map((folder) => join(folder, 'cgroup.procs'))
  const command = streams.terminal ? terminalCommand(told, first) : told
  const [program = '', ...rest] = plainCommand(shell, groups, throughShell(command, env, plainTools.env))
  return spawn(program, rest, { cwd: container.workingDir, env, stdio: outputs(streams), detached: true })
}

function outputs({ stdin, stdout, stderr, terminal }: ExecStreams): ('pipe' | 'ignore')[] {
  return [stdin ? 'pipe' : 'ignore', stdout ? 'pipe' : 'ignore', stderr || terminal ? 'pipe' : 'ignore']
}

async function tellSizes(sizes: NonNullable<ExecStreams['terminal']>, child: ChildProcess, signal: AbortSignal) {
  const [, , , told] = child.stdio
  try {
    for await (const { columns, rows } of sizes) {
      if (signal.aborted || !(told instanceof Writable) || !told.writable) return
      told.write(entryMessage([['size', Math.trunc(columns), Math.trunc(rows)]]))
    }
  } catch {
    // The client is gone. A terminal of the wrong size still works.
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
      // Its children may have left the process group, as programs in a terminal do, and may hold its output open.
      void search.find([mark]).then((left) => left.forEach((process) => signalProcess(process, 'SIGKILL')))
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill, { once: true })
    forward(child.stdout, streams.stdout)
    forward(child.stderr, streams.stderr)
    const { stdin } = child
    if (stdin && streams.stdin) {
      // The program may stop reading before the end of its input; the rest is dropped.
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
  // A client that left reads no more; the program must not block on it.
  to.on('error', () => from.resume())
  to.on('close', () => from.resume())
  from.pipe(to, { end: false })
}
