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
  /** The entries in its environment (`NAME=value`) that all its descendants carry. */
  readonly marks: readonly string[]
  /**
   * The entry that the shells of all containers carry: until they become its program, what they fork has nothing else.
   */
  readonly shellMark: string
  readonly search: ProcessSearch
  /** It is among the processes of another container: what it leaves behind does not end with it. */
  readonly sharesProcesses?: boolean
}

/** What the process of one start of a container gets. */
export type ProcessOptionsFor = (podUid: string, container: string, attempt: number) => ContainerProcessOptions

/** How often to look whether a process that is not our child is still there: nobody tells us. */
const watchPeriodMs = 250
/** How long to wait for what a dead leader left behind, after SIGKILL, before going on with a warning. */
const leftoverDeadlineMs = 10_000
/**
 * How long the process outside of a container's namespaces has for what they said, once everything in them is killed.
 */
const lastWordsMs = 2000
/** How soon to look again for it: ever more rarely. */
const firstLookMs = 50
const longestLookMs = 1000

/** What is said of a program that cannot be run, in a container that could be made. */
const programFault = /^(?:cannot run|workingDir) "/

/** Returns how to keep it from what it still means to do. */
type SendSignal = (signal: NodeJS.Signals) => CancelTimer
const done: CancelTimer = () => {}

/** One container's session: the process that leads it, however it came to us, and how all of it is ended. */
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
   * Has the shell run the script. `record` is given what the process will be known by, while the container is set up;
   * its program runs when that is done, and not at all when it fails.
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
    // Until its exit is reported the pid cannot be anybody else's, even if the process is already dead.
    const identity = { pid, startTime: readProcess(pid)?.startTime ?? '' }
    const isThere = () => child.exitCode === null && child.signalCode === null
    const signalChild = (signal: NodeJS.Signals) => {
      if (isThere()) sendSignal(-pid, signal)
      return done
    }
    const signalAll = isolated ? insideFirst(pid, isThere, signalChild, options.clock) : signalChild
    return new ContainerProcess(identity, exitOf(child, isolated), signalAll, options)
  }

  /** One that another program started, whether it still runs or not. Of another boot of the machine nothing does. */
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

  /** Members of the group that outlived their leader: a container ends as a whole. */
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
 * Kills the first process in namespaces, with which the kernel ends all others in them, and leaves the one outside the
 * time to collect what they said last. Other signals go to all.
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
   * Whether everything else is gone, too: the kernel ends what is left in a PID namespace before the end of its first
   * process is known. Where there is no such namespace, or the process outside of it was killed, something may be left.
   */
  readonly whole: boolean
  /** When that was, where it was not just now. */
  readonly at?: number
}

/** The process of a container as it was recorded. */
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
  // The shell that is the first process of a container tells of its program's signal in this way.
  if (code > 128 && code <= 128 + 31) return endedBy(code - 128)
  return { exitCode: code, reason: code === 0 ? 'Completed' : 'Error' }
}

function endedBy(number: number): ExitFacts {
  const [name = `signal ${number}`] = Object.entries(constants.signals).find(([, value]) => value === number) ?? []
  return { exitCode: 128 + number, signal: number, reason: 'Error', message: `ended by ${name}` }
}

/** Never resolves early: a pid that now belongs to another process counts as gone. */
async function disappearanceOf(leader: AdoptedLeader, clock: Clock): Promise<LeaderExit> {
  while (leader.thisBoot && isAlive(leader)) await clock.sleep(watchPeriodMs)
  const note = await readExitFile(leader.exitFile)
  if (note.state === 'ended') return { exit: exitWith(note.code), whole: leader.isolated, at: note.at }
  // Nothing else keeps the shell from telling how its program ended.
  if (note.state === 'started' && leader.thisBoot) return { exit: endedBy(constants.signals.SIGKILL), whole: false }
  const message = 'The process ended after the program that had started it; its exit code is not known.'
  return { exit: { exitCode: 137, reason: 'ContainerStatusUnknown', message }, whole: false }
}
