import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { type Isolation, isExecutable } from './isolation/detect-isolation.ts'
import { enteringCommand, plainCommand } from './isolation/isolated-command.ts'
import type { ContainerRecord } from './pod-records.ts'
import { ContainerRefused, type ExecResult, type ExecStreams } from './pod-runtime.ts'
import { environmentOf, sendSignal } from './process-identity.ts'
import { replaceMountPaths } from './volume-mounts.ts'

const shell = '/bin/sh'
const terminalPrograms = ['/usr/bin/script', '/bin/script']

/** Runs a program where a container's own program runs: in its namespaces, with its variables, limits and folder. */
export async function execInContainer(
  container: ContainerRecord,
  isolation: Isolation,
  words: readonly string[],
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<ExecResult> {
  const env = environmentOf(container.pid)
  const groups = container.cgroups.map((folder) => join(folder, 'cgroup.procs'))
  const told = words.map((word) => replaceMountPaths(word, container.mounts))
  if (container.isolated && isolation.mode !== 'namespaces') {
    throw new ContainerRefused('RunContainerError', 'the container has namespaces, which cannot be entered any more')
  }
  const command =
    container.isolated && isolation.mode === 'namespaces'
      ? enteringCommand(isolation.tools, container.pid, container.workingDir, told)
      : told
  const cwd = container.isolated ? '/' : container.workingDir
  const whole = plainCommand(shell, groups, command)
  return streams.terminal
    ? execWithTerminal(whole, env, cwd, streams, signal)
    : execPlain(whole, env, cwd, streams, signal)
}

function execPlain(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<ExecResult> {
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: [streams.stdin ? 'pipe' : 'ignore', streams.stdout ? 'pipe' : 'ignore', streams.stderr ? 'pipe' : 'ignore'],
    detached: true,
  })
  return resultOf(child, streams, signal)
}

/** A terminal of its own, made by script(1): it takes the keys from a pipe, and its size is set from outside. */
async function execWithTerminal(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  streams: ExecStreams,
  signal: AbortSignal,
): Promise<ExecResult> {
  const program = terminalPrograms.find(isExecutable)
  if (program === undefined) {
    throw new ContainerRefused(
      'RunContainerError',
      'this machine has no script(1), without which there are no terminals',
    )
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-terminal-'))
  const named = join(folder, 'name')
  const whole = `tty >${quoted(named)}; exec ${command.map(quoted).join(' ')}`
  const child = spawn(program, ['--quiet', '--return', '--flush', '--command', whole, '/dev/null'], {
    cwd,
    env: { TERM: 'xterm', ...env, SHELL: shell },
    stdio: [streams.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = new AbortController()
  const resizing = resize(streams.terminal, named, AbortSignal.any([signal, ended.signal]))
  try {
    return await resultOf(child, { stdin: streams.stdin, stdout: streams.stdout, stderr: streams.stdout }, signal)
  } finally {
    ended.abort()
    rmSync(folder, { recursive: true, force: true })
    resizing.catch(() => {})
  }
}

async function resize(sizes: ExecStreams['terminal'], named: string, signal: AbortSignal): Promise<void> {
  for await (const { columns, rows } of sizes ?? []) {
    const terminal = await terminalName(named, signal)
    if (terminal === undefined || signal.aborted) return
    const args = ['-F', terminal, 'cols', String(Math.trunc(columns)), 'rows', String(Math.trunc(rows))]
    spawn('stty', args, { stdio: 'ignore' }).on('error', () => {})
  }
}

/** Written first thing by the shell inside the terminal. */
async function terminalName(path: string, signal: AbortSignal): Promise<string | undefined> {
  for (let tries = 0; tries < 200 && !signal.aborted; tries += 1) {
    try {
      const name = readFileSync(path, 'utf8').trim()
      if (/^\/dev\/pts\/\d+$/.test(name)) return name
    } catch {
      // Not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return undefined
}

function resultOf(child: ChildProcess, streams: ExecStreams, signal: AbortSignal): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const kill = () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        sendSignal(-child.pid, 'SIGKILL')
      }
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill, { once: true })
    forward(child.stdout, streams.stdout)
    forward(child.stderr, streams.stderr)
    if (child.stdin && streams.stdin) {
      // A program may end without reading everything it is sent.
      child.stdin.on('error', () => {})
      streams.stdin.on('error', kill)
      streams.stdin.pipe(child.stdin)
    }
    const settle = () => {
      signal.removeEventListener('abort', kill)
      if (child.stdin) streams.stdin?.unpipe(child.stdin)
    }
    child.once('error', (error) => {
      settle()
      reject(new ContainerRefused('RunContainerError', `cannot run the program: ${error.message}`, { cause: error }))
    })
    child.once('close', (code, killedBy) => {
      settle()
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

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
