import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Endpoints } from '../../src/platform/up-options.ts'
import { removeMounts } from './leftover-mounts.ts'
import { removeNetwork } from './leftover-network.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs `npm start` as users do, in its own process group, so that Ctrl-C can be sent as by a terminal. */
export class SluiceProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<number | null>
  readonly data: string
  output = ''

  private constructor(data: string, flags: readonly string[], env: NodeJS.ProcessEnv) {
    this.data = data
    // Where only Sluice can reach Pods, tests cannot: the Pod network of an ordinary user has tests of its own.
    const shared = process.getuid?.() === 0 || flags.includes('--pod-network') ? [] : ['--pod-network', 'loopback']
    const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
    this.#child = spawn('npm', ['start', '--', '--data', data, ...ports, ...shared, ...flags], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // The developer's own commands should not find the clusters of tests.
      env: { ...process.env, XDG_CONFIG_HOME: join(data, 'config'), ...env },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
    this.#exited = new Promise((resolve) => this.#child.on('exit', resolve))
  }

  /** Starts Sluice and waits until it reports that everything runs. */
  static async start(data: string, flags: readonly string[] = [], env = {}): Promise<SluiceProcess> {
    const process = new SluiceProcess(data, flags, env)
    await until('the welcome', 120_000, () => {
      if (process.#child.exitCode !== null) throw new Error(`npm start ended:\n${process.output}`)
      return process.output.includes('Ctrl-C stops everything')
    }).catch((error: unknown) => {
      process.destroy()
      throw error
    })
    return process
  }

  get endpoints(): Endpoints {
    return JSON.parse(readFileSync(join(this.data, 'endpoints.json'), 'utf8')) as Endpoints
  }

  get kubeconfig(): string {
    return join(this.data, 'kubeconfig')
  }

  /** The inspector of its main thread, if it was started with `--inspect` in NODE_OPTIONS. */
  get inspectorUrl(): string {
    // Each program that is started on the way prints its own address; Sluice's is the last.
    return this.output.match(/ws:\/\/127\.0\.0\.1:\S+/g)?.at(-1) ?? ''
  }

  /** Resolves with the exit code of `npm start`. */
  get exited(): Promise<number | null> {
    return this.#exited
  }

  /** Sends SIGINT to the whole process group, as a terminal does. */
  pressControlC(): void {
    this.#signalGroup('SIGINT')
  }

  async killHard(): Promise<void> {
    process.kill(this.endpoints.pid, 'SIGKILL')
    await this.#exited
  }

  /** Tells npm to end, and waits for the end, as a service manager does. */
  async stop(): Promise<void> {
    const { pid } = this.endpoints
    this.#child.kill('SIGTERM')
    await this.#exited
    if (existsSync(`/proc/${pid}`)) throw new Error('npm start ended, and what it had started did not')
  }

  /** Kills it and removes what it had in the machine's network, since it will not be started again. */
  destroy(): void {
    this.#signalGroup('SIGKILL')
    removeNetwork(this.data)
    removeMounts(this.data)
  }

  #signalGroup(signal: NodeJS.Signals): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal)
    } catch {
      // It has ended already.
    }
  }
}

/** Polls until a condition holds. Only for what happens in other processes, where no event can be awaited. */
export async function until(what: string, timeoutMs: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`gave up waiting for ${what} after ${timeoutMs / 1000} s`)
    await sleep(50)
  }
}

/** Kills a process. It is fine if it has already ended, perhaps together with one that was killed before. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Processes whose command line contains a text: tests use it to see what was started and what is left. */
export function processesMentioning(text: string): number[] {
  return processesWhere((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text))
}

/**
 * All processes of Pods of this data directory's node. Each carries the node's mark in its environment, whatever its
 * command line is.
 */
export function podProcesses(data: string): number[] {
  const mark = `SLUICE_NODE_ID=${readFileSync(join(data, 'node/id'), 'utf8').trim()}\0`
  return processesWhere((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark))
}

function processesWhere(holds: (pid: string) => boolean): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return holds(pid)
      } catch {
        // It has ended in the meantime, or may not be read.
        return false
      }
    })
    .map(Number)
}
