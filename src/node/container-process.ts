import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { NamespaceShell } from './isolation/namespace-shell.ts'
import { type ContainerExit, ContainerRefused } from './pod-runtime.ts'
import {
  type ProcessIdentity,
  isAlive,
  readProcess,
  sendSignal,
  signalGroup,
  signalProcess,
} from './process-identity.ts'
import type { ProcessSearch } from './process-search.ts'

export interface ContainerProcessOptions {
  readonly clock: Clock
  readonly log: Logger
  /** The entries in its environment (`NAME=value`) that all its descendants carry. */
  readonly marks: readonly string[]
  readonly search: ProcessSearch
}

/** Exactly what is handed to the operating system. */
export interface SpawnCommand {
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stdin?: number | undefined
}

/** How often to look whether a process that is not our child is still there: nobody tells us. */
const watchPeriodMs = 250
/** How long to wait for what a dead leader left behind, after SIGKILL, before going on with a warning. */
const leftoverDeadlineMs = 10_000
/** How soon to look again for it: ever more rarely. */
const firstLookMs = 50
const longestLookMs = 1000

/** One container's process group: the process that leads it, however it came to us, and how it is ended. */
export class ContainerProcess {
  readonly identity: ProcessIdentity
  readonly exited: Promise<ContainerExit>
  readonly #options: ContainerProcessOptions
  readonly #signal: (signal: NodeJS.Signals) => void
  #gone = false
  #asked = false
  #killDueAt = Number.POSITIVE_INFINITY
  #cancelKill = () => {}

  private constructor(
    identity: ProcessIdentity,
    leaderExited: Promise<LeaderExit>,
    signal: (signal: NodeJS.Signals) => void,
    options: ContainerProcessOptions,
  ) {
    this.identity = identity
    this.#signal = signal
    this.#options = options
    this.exited = leaderExited.then(async ({ exit, whole }) => {
      const finishedAt = options.clock.now()
      this.#cancelKill()
      if (!whole) await this.#endLeftovers()
      this.#gone = true
      return { ...exit, finishedAt }
    })
  }

  static async spawn(
    command: SpawnCommand,
    outputFd: number,
    options: ContainerProcessOptions,
  ): Promise<ContainerProcess> {
    const { words, env, cwd, stdin = 'ignore' } = command
    const [program = '', ...args] = words
    let child: ChildProcess
    try {
      child = spawn(program, args, {
        cwd,
        env,
        stdio: [stdin, outputFd, outputFd],
        // A session and process group of its own: it does not get our Ctrl-C, and all of it can be signalled at once.
        detached: true,
      })
      await once(child, 'spawn')
    } catch (error) {
      const message = `cannot run "${program}": ${errorMessage(error)}`
      throw new ContainerRefused('RunContainerError', message, { cause: error })
    }
    return ContainerProcess.#of(child, false, options)
  }

  /** Has the shell run the script in its namespaces. */
  static async enter(
    shell: NamespaceShell,
    script: string,
    options: ContainerProcessOptions,
  ): Promise<ContainerProcess> {
    const refused = (report: string) =>
      new ContainerRefused('RunContainerError', `the container's namespaces cannot be made: ${report}`)
    const { child } = shell
    const reported = shell.run(script, options.clock)
    if (child.pid === undefined) throw refused(await reported)
    const container = ContainerProcess.#of(child, true, options)
    const report = await reported
    if (report === '') return container
    await container.stop(0)
    throw refused(report)
  }

  static #of(child: ChildProcess, isolated: boolean, options: ContainerProcessOptions): ContainerProcess {
    const pid = child.pid ?? 0
    // Until its exit is reported the pid cannot be anybody else's, even if the process is already dead.
    const identity = { pid, startTime: readProcess(pid)?.startTime ?? '' }
    const signalChild = (signal: NodeJS.Signals) => {
      if (child.exitCode === null && child.signalCode === null) sendSignal(-pid, signal)
    }
    return new ContainerProcess(identity, exitOf(child, isolated), signalChild, options)
  }

  /** `exitFile` is where a container with namespaces of its own leaves its exit code. */
  static adopt(identity: ProcessIdentity, exitFile: string, options: ContainerProcessOptions): ContainerProcess {
    const signalAdopted = (signal: NodeJS.Signals) => void signalGroup(identity, signal)
    const gone = disappearanceOf(identity, exitFile, options.clock)
    return new ContainerProcess(identity, gone, signalAdopted, options)
  }

  /** Asks once, and forces after the grace; called again with a shorter one, forces earlier. */
  async stop(graceMs: number): Promise<void> {
    if (this.#gone) return
    if (!this.#asked && graceMs > 0) {
      this.#asked = true
      this.#signal('SIGTERM')
    }
    const dueAt = this.#options.clock.now() + graceMs
    if (dueAt < this.#killDueAt) {
      this.#cancelKill()
      this.#killDueAt = dueAt
      if (graceMs <= 0) this.#signal('SIGKILL')
      else this.#cancelKill = this.#options.clock.after(graceMs, () => this.#signal('SIGKILL'))
    }
    await this.exited
  }

  /** Members of the group that outlived their leader: a container ends as a whole. */
  async #endLeftovers(): Promise<void> {
    const deadline = this.#options.clock.now() + leftoverDeadlineMs
    for (let pauseMs = firstLookMs; ; pauseMs = Math.min(longestLookMs, pauseMs * 2)) {
      const leftovers = await this.#options.search.find(this.#options.marks)
      if (leftovers.length === 0) return
      for (const leftover of leftovers) signalProcess(leftover, 'SIGKILL')
      if (this.#options.clock.now() > deadline) {
        this.#options.log.error({ pids: leftovers.map(({ pid }) => pid) }, 'processes do not end on SIGKILL')
        return
      }
      await this.#options.clock.sleep(pauseMs)
    }
  }
}

type ExitFacts = Omit<ContainerExit, 'finishedAt'>

interface LeaderExit {
  readonly exit: ExitFacts
  /**
   * Whether everything else is gone, too: the kernel ends what is left in a PID namespace before the end of its first process is
   * known. Where there is no such namespace, or the process outside of it was killed, something may be left.
   */
  readonly whole: boolean
}

async function exitOf(child: ChildProcess, isolated: boolean): Promise<LeaderExit> {
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve([child.exitCode, child.signalCode])
    else child.once('exit', (...exit) => resolve(exit))
  })
  if (signal !== null) return { exit: endedBy(constants.signals[signal]), whole: false }
  return { exit: exitWith(code ?? 0, isolated), whole: isolated }
}

function exitWith(code: number, isolated: boolean): ExitFacts {
  // The shell that is the first process of a namespace tells of its program's signal in this way.
  if (isolated && code > 128 && code <= 128 + 31) return endedBy(code - 128)
  return { exitCode: code, reason: code === 0 ? 'Completed' : 'Error' }
}

function endedBy(number: number): ExitFacts {
  const [name = `signal ${number}`] = Object.entries(constants.signals).find(([, value]) => value === number) ?? []
  return { exitCode: 128 + number, signal: number, reason: 'Error', message: `ended by ${name}` }
}

/** Never resolves early: a pid that now belongs to another process counts as gone. */
async function disappearanceOf(identity: ProcessIdentity, exitFile: string, clock: Clock): Promise<LeaderExit> {
  while (isAlive(identity)) await clock.sleep(watchPeriodMs)
  const code = exitFile === '' ? '' : readExitCode(exitFile)
  if (/^\d+$/.test(code)) return { exit: exitWith(Number(code), true), whole: true }
  const message = 'The process ended after the program that had started it; its exit code is not known.'
  return { exit: { exitCode: 137, reason: 'ContainerStatusUnknown', message }, whole: false }
}

export function readExitCode(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
