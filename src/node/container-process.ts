import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { LaunchPlan } from './launch-plan.ts'
import { type ContainerExit, ContainerRefused } from './pod-runtime.ts'
import {
  type ProcessIdentity,
  groupMembersMarked,
  isAlive,
  readProcess,
  sendSignal,
  signalGroup,
  signalProcess,
} from './process-identity.ts'

export interface ContainerProcessOptions {
  readonly clock: Clock
  readonly log: Logger
  /** The entry in its environment (`NAME=value`) that all its descendants carry. */
  readonly mark: string
}

/** How often to look whether a process that is not our child is still there: nobody tells us. */
const watchPeriodMs = 250
/** How long to wait for what a dead leader left behind, after SIGKILL, before going on with a warning. */
const leftoverDeadlineMs = 10_000
const leftoverPeriodMs = 50

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
    leaderExited: Promise<Omit<ContainerExit, 'finishedAt'>>,
    signal: (signal: NodeJS.Signals) => void,
    options: ContainerProcessOptions,
  ) {
    this.identity = identity
    this.#signal = signal
    this.#options = options
    this.exited = leaderExited.then(async (exit) => {
      const finishedAt = options.clock.now()
      this.#cancelKill()
      await this.#endLeftovers()
      this.#gone = true
      return { ...exit, finishedAt }
    })
  }

  static async spawn(plan: LaunchPlan, outputFd: number, options: ContainerProcessOptions): Promise<ContainerProcess> {
    let child: ChildProcess
    try {
      child = spawn(plan.program, plan.args, {
        cwd: plan.workingDir,
        env: plan.env,
        stdio: ['ignore', outputFd, outputFd],
        // A session and process group of its own: it does not get our Ctrl-C, and all of it can be signalled at once.
        detached: true,
      })
      await once(child, 'spawn')
    } catch (error) {
      const message = `cannot run "${plan.program}": ${errorMessage(error)}`
      throw new ContainerRefused('RunContainerError', message, { cause: error })
    }
    const pid = child.pid ?? 0
    // Until its exit is reported the pid cannot be anybody else's, even if the process is already dead.
    const identity = { pid, startTime: readProcess(pid)?.startTime ?? '' }
    const signalChild = (signal: NodeJS.Signals) => {
      if (child.exitCode === null && child.signalCode === null) sendSignal(-pid, signal)
    }
    return new ContainerProcess(identity, exitOf(child), signalChild, options)
  }

  static adopt(identity: ProcessIdentity, options: ContainerProcessOptions): ContainerProcess {
    const signalAdopted = (signal: NodeJS.Signals) => void signalGroup(identity, signal)
    return new ContainerProcess(identity, disappearanceOf(identity, options.clock), signalAdopted, options)
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
    for (;;) {
      const leftovers = groupMembersMarked(this.identity.pid, this.#options.mark)
      if (leftovers.length === 0) return
      for (const leftover of leftovers) signalProcess(leftover, 'SIGKILL')
      if (this.#options.clock.now() > deadline) {
        this.#options.log.error({ pids: leftovers.map(({ pid }) => pid) }, 'processes do not end on SIGKILL')
        return
      }
      await this.#options.clock.sleep(leftoverPeriodMs)
    }
  }
}

async function exitOf(child: ChildProcess): Promise<Omit<ContainerExit, 'finishedAt'>> {
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve([child.exitCode, child.signalCode])
    else child.once('exit', (...exit) => resolve(exit))
  })
  if (signal !== null) {
    const number = constants.signals[signal]
    return { exitCode: 128 + number, signal: number, reason: 'Error', message: `ended by ${signal}` }
  }
  return { exitCode: code ?? 0, reason: code === 0 ? 'Completed' : 'Error' }
}

/** Never resolves early: a pid that now belongs to another process counts as gone. */
async function disappearanceOf(identity: ProcessIdentity, clock: Clock): Promise<Omit<ContainerExit, 'finishedAt'>> {
  while (isAlive(identity)) await clock.sleep(watchPeriodMs)
  const message = 'The process ended after the program that had started it; its exit code is not known.'
  return { exitCode: 137, reason: 'ContainerStatusUnknown', message }
}
