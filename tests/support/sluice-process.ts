import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Endpoints } from '../../src/platform/up-options.ts'
import { removeMounts } from './leftover-mounts.ts'
import { removeNetwork } from './leftover-network.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** `npm start` as its user runs it: a process group of its own, so that Ctrl-C can be sent as a terminal does. */
export class SluiceProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<number | null>
  readonly data: string
  output = ''

  private constructor(data: string, flags: readonly string[], env: NodeJS.ProcessEnv) {
    this.data = data
    // Where only Sluice reaches Pods, tests do not: an ordinary user's network of Pods has tests of its own.
    const shared = process.getuid?.() === 0 || flags.includes('--pod-network') ? [] : ['--pod-network', 'loopback']
    const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
    this.#child = spawn('npm', ['start', '--', '--data', data, ...ports, ...shared, ...flags], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
    this.#exited = new Promise((resolve) => this.#child.on('exit', resolve))
  }

  /** Starts it and waits until it says that everything runs. */
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

  /** Where its main thread can be told what to do, when it was started with `--inspect` in NODE_OPTIONS. */
  get inspectorUrl(): string {
    // Each program on the way to it says its own; it is the last.
    return this.output.match(/ws:\/\/127\.0\.0\.1:\S+/g)?.at(-1) ?? ''
  }

  /** Resolves with the exit code of `npm start`. */
  get exited(): Promise<number | null> {
    return this.#exited
  }

  /** As a terminal does: SIGINT to the whole foreground group. */
  pressControlC(): void {
    this.#signalGroup('SIGINT')
  }

  async killHard(): Promise<void> {
    process.kill(this.endpoints.pid, 'SIGKILL')
    await this.#exited
  }

  /** As a service manager does: SIGTERM, and wait for its end. */
  async stop(): Promise<void> {
    process.kill(this.endpoints.pid, 'SIGTERM')
    await this.#exited
  }

  /** Kills it, and takes away what it had in the machine's network, since nobody will start it again. */
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

/** Polls until it holds. Only for what happens in another process, where no event can be awaited. */
export async function until(what: string, timeoutMs: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`gave up waiting for ${what} after ${timeoutMs / 1000} s`)
    await sleep(50)
  }
}

/** One that has ended since it was seen, perhaps with the one killed before it, is what was wanted. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Processes whose command line mentions the text: how the tests see what was started and what is left. */
export function processesMentioning(text: string): number[] {
  return processesWhere((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text))
}

/**
 * Every process of a Pod of the data directory's node: each carries the node's mark, whatever its command line says.
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
        // It has ended since, or is not ours to look at.
        return false
      }
    })
    .map(Number)
}
