import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { readExitFile } from './exit-file.ts'
import type { ContainerScript } from '../isolation/container-script.ts'
import type { ContainerShell } from '../isolation/container-shell.ts'
import { type ContainerExit, ContainerRefused } from '../pod-runtime.ts'
import {
  type ProcessFacts,
  type ProcessIdentity,
  childrenOf,
  isAlive,
  readProcess,
  sendSignal,
  signalGroup,
  signalProcess,
} from '../processes/process-identity.ts'
import type { ProcessSearch } from '../processes/process-search.ts'

export interface ContainerProcessOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Environment entries (`NAME=value`) that all its processes inherit. */
  readonly marks: readonly string[]
  /**
   * The environment entry of all shells that wait for containers. Until a shell becomes the program, its children carry
   * only this mark.
   */
  readonly shellMark: string
  readonly search: ProcessSearch
  /** It runs in the PID namespace of another container, so the kernel does not end what it leaves behind. */
  readonly sharesProcesses?: boolean
}

/** Gives the options for the process of one start of a container. */
export type ProcessOptionsFor = (podUid: string, container: string, attempt: number) => ContainerProcessOptions

/** How often to check whether an adopted process still runs: it is not our child, so nothing tells us. */
const watchPeriodMs = 250
/** How long to wait for killed leftovers to disappear before giving up with an error in the log. */
const leftoverDeadlineMs = 10_000
/** How long the process outside the namespaces gets to collect the last output after everything inside was killed. */
const lastWordsMs = 2000
/** How soon to look for leftovers again; doubled each time. */
const firstLookMs = 50
const longestLookMs = 1000

/** Messages of the entry program that blame the container's program, not the setup. */
const programFault = /^(?:cannot run|workingDir) "/

/** Returns a function that cancels what is still to be sent. */
type SendSignal = (signal: NodeJS.Signals) => CancelTimer
const done: CancelTimer = () => {}

/** The processes of one container: how to signal and end all of them, whether this program started or adopted them. */
export class ContainerProcess {
  readonly identity: ProcessIdentity
  readonly exited: Promise<ContainerExit>
  readonly #options: ContainerProcessOptions
  readonly #signal: SendSignal
  #gone = false
  #asked = false
  #killDueAt = Number.POSITIVE_INFINITY
  #cancelKill = () => {}

  private constructor(
    identity: ProcessIdentity,
    leaderExited: Promise<LeaderExit>,
    signal: SendSignal,
    options: ContainerProcessOptions,
  ) {
    this.identity = identity
    this.#signal = signal
    this.#options = options
    this.exited = leaderExited.then(async ({ exit, whole, at }) => {
      const finishedAt = at ?? options.clock.now()
      this.#cancelKill()
      if (!whole || options.sharesProcesses === true) await this.#endLeftovers()
      this.#gone = true
      return { ...exit, finishedAt }
    })
  }

  /**
   * Runs the script in the shell. `record` gets the process's identity while the container is being set up; the program
   * runs once `record` has resolved, and not at all if it rejects.
   */
  static async enter(
    shell: ContainerShell,
    script: ContainerScript,
    isolated: boolean,
    record: (identity: ProcessIdentity) => Promise<void>,
    options: ContainerProcessOptions,
  ): Promise<ContainerProcess> {
    const refused = (report: string) => {
      if (programFault.test(report)) return new ContainerRefused('RunContainerError', report)
      const what = isolated ? "the container's namespaces cannot be made" : 'the container cannot be set up'
      return new ContainerRefused('RunContainerError', `${what}: ${report}`)
    }
    const { child } = shell
    if (child.pid === undefined) throw refused(await shell.run(script, options.clock))
    const container = ContainerProcess.#of(child, isolated, options)
    const recorded = record(container.identity)
    const report = await shell.run(script, options.clock, recorded)
    if (report === '') return container
    await container.stop(0)
    await recorded
    throw refused(report)
  }

  static #of(child: ChildProcess, isolated: boolean, options: ContainerProcessOptions): ContainerProcess {
    const pid = child.pid ?? 0
    // The pid stays ours until Node reports the exit, even if the process is already dead.
    const identity = { pid, startTime: readProcess(pid)?.startTime ?? '' }
    const isThere = () => child.exitCode === null && child.signalCode === null
    const signalChild = (signal: NodeJS.Signals) => {
      if (isThere()) sendSignal(-pid, signal)
      return done
    }
    const signalAll = isolated ? insideFirst(pid, isThere, signalChild, options.clock) : signalChild
    return new ContainerProcess(identity, exitOf(child, isolated), signalAll, options)
  }

  /**
   * A process that a former run of this program started, whether it still runs or not. If the machine was rebooted
   * since, it does not.
   */
  static adopt(leader: AdoptedLeader, options: ContainerProcessOptions): ContainerProcess {
    const signalAdopted = (signal: NodeJS.Signals) => {
      if (leader.thisBoot) signalGroup(leader, signal)
      return done
    }
    const { pid, startTime } = leader
    const isThere = () => leader.thisBoot && isAlive(leader)
    const signalAll = leader.isolated ? insideFirst(pid, isThere, signalAdopted, options.clock) : signalAdopted
    const gone = disappearanceOf(leader, options.clock)
    return new ContainerProcess({ pid, startTime }, gone, signalAll, options)
  }

  /** Sends SIGTERM once, and SIGKILL after the grace period. A later call with a shorter grace shortens it. */
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
      const kill = () => (this.#cancelKill = this.#signal('SIGKILL'))
      if (graceMs <= 0) kill()
      else this.#cancelKill = this.#options.clock.after(graceMs, kill)
    }
    await this.exited
  }

  async #findLeftovers(): Promise<readonly ProcessFacts[]> {
    const { search, marks, shellMark } = this.#options
    const [members, shells] = await Promise.all([search.find(marks), search.find([shellMark])])
    return [...members, ...shells.filter(({ session }) => session === this.identity.pid)]
  }

  /** Kills processes that outlived their leader: a container ends as a whole. */
  async #endLeftovers(): Promise<void> {
    const deadline = this.#options.clock.now() + leftoverDeadlineMs
    for (let pauseMs = firstLookMs; ; pauseMs = Math.min(longestLookMs, pauseMs * 2)) {
      const leftovers = await this.#findLeftovers()
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

/**
 * For SIGKILL: kills the first process inside the namespaces, with which the kernel ends the others, and gives the
 * process outside some time to collect their last output. Other signals go to all processes.
 */
function insideFirst(pid: number, isThere: () => boolean, signalAll: SendSignal, clock: Clock): SendSignal {
  return (signal) => {
    const inside = signal === 'SIGKILL' && isThere() ? childrenOf(pid) : []
    if (inside.length === 0) return signalAll(signal)
    for (const child of inside) sendSignal(child, signal)
    return clock.after(lastWordsMs, () => signalAll(signal))
  }
}

type ExitFacts = Omit<ContainerExit, 'finishedAt'>

interface LeaderExit {
  readonly exit: ExitFacts
  /**
   * Whether all other processes are gone, too. The kernel sees to that when the first process of a PID namespace ends;
   * without such a namespace, or when the process outside was killed, some may be left.
   */
  readonly whole: boolean
  /** When it ended, if not just now. */
  readonly at?: number
}

/** A container's process as the record of a former run describes it. */
export interface AdoptedLeader extends ProcessIdentity {
  readonly isolated: boolean
  readonly exitFile: string
  readonly thisBoot: boolean
}

async function exitOf(child: ChildProcess, isolated: boolean): Promise<LeaderExit> {
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve([child.exitCode, child.signalCode])
    else child.once('exit', (...exit) => resolve(exit))
  })
  if (signal !== null) return { exit: endedBy(constants.signals[signal]), whole: false }
  return { exit: exitWith(code ?? 0), whole: isolated }
}

function exitWith(code: number): ExitFacts {
  // The container's first process reports its program's signal in this way, as shells do.
  if (code > 128 && code <= 128 + 31) return endedBy(code - 128)
  return { exitCode: code, reason: code === 0 ? 'Completed' : 'Error' }
}

function endedBy(number: number): ExitFacts {
  const [name = `signal ${number}`] = Object.entries(constants.signals).find(([, value]) => value === number) ?? []
  return { exitCode: 128 + number, signal: number, reason: 'Error', message: `ended by ${name}` }
}

/** Resolves when the process is gone; a pid that now belongs to another process counts as gone. */
async function disappearanceOf(leader: AdoptedLeader, clock: Clock): Promise<LeaderExit> {
  while (leader.thisBoot && isAlive(leader)) await clock.sleep(watchPeriodMs)
  const note = await readExitFile(leader.exitFile)
  if (note.state === 'ended') return { exit: exitWith(note.code), whole: leader.isolated, at: note.at }
  // Only SIGKILL keeps the shell from noting how its program ended.
  if (note.state === 'started' && leader.thisBoot) return { exit: endedBy(constants.signals.SIGKILL), whole: false }
  const message = 'The process ended after the program that had started it; its exit code is not known.'
  return { exit: { exitCode: 137, reason: 'ContainerStatusUnknown', message }, whole: false }
}
