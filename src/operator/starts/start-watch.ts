import type { ObjectCache } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { controllingModel } from '../../resources/model-ownership.ts'
import type { Pod } from '../../resources/pod.ts'
import { type AskHealth, healthAddressOf } from './health-answers.ts'
import { type LoadState, loadStateOf } from './load-state.ts'
import { ObservedStart, type StartLimits } from './observed-start.ts'
import { type StartProgress, durationText, loadingContainer } from './start-progress.ts'
import { loadingText } from './shown-loading.ts'

/** The last line of a container's log, with the time before it; empty if there is none. Implemented by the platform. */
export type ReadLogTail = (pod: Pod, container: string, signal: AbortSignal) => Promise<string>

export interface StartWatchOptions {
  readonly pods: ObjectCache<Pod>
  readonly readLogTail: ReadLogTail
  /** Without it, only logs are read. */
  readonly askHealth?: AskHealth | undefined
  readonly clock: Clock
  readonly log: Logger
  /** How long a start may show nothing new before it is given up; 0: for ever. */
  readonly stalledMs: (pod: Pod) => number
  readonly quietMs: (pod: Pod) => number
  readonly percentIn: (pod: Pod, line: string) => number | undefined
  /** Removes from a line what nobody may see. */
  readonly redact: (pod: Pod, line: string) => string
  /** Something else is known of the Pod. */
  readonly onNews: (pod: Pod) => void
  /** A load that said how far it is has stopped to move, or goes on again. */
  readonly onStall: (pod: Pod, isStalled: boolean, progress: StartProgress) => void
  /** Nothing was seen of it for too long. */
  readonly giveUp: (pod: Pod, why: string, signal: AbortSignal) => Promise<void>
}

interface Watched {
  readonly start: ObservedStart
  /** When the first container of the Pod began: it may have copied files for the others. */
  readonly beganAt: number
  dueAt: number
  logDueAt: number
  /** Answers that said nothing, in a row. */
  mute: number
}

/** A start that is over sooner costs no request. */
const firstLookMs = 1_000
/** How often a program that says how far it is gets asked. */
const askMs = 2_000
/** A log is read less often: the API server has to fetch it from the node. */
const logMs = 10_000
const shortestLookMs = 1_000
const askDeadlineMs = 1_000
const logDeadlineMs = 5_000
/** After this many answers that say nothing, only its log is read. Before its port is open, none is expected. */
const mostMute = 15
/** Requests at a time. */
const concurrency = 4
/** Looked at in one round; those that were not are looked at in the next. */
const mostPerRound = 64
const mostLogsPerRound = 8

/**
 * Watches Pods that load their models, which may take an hour, to tell slow from stuck. Some programs say how far they
 * are when they are asked whether they are ready. What can be seen of any other on any Kubernetes is its log: as long
 * as that grows, the start goes on.
 */
export class StartWatch {
  readonly #options: StartWatchOptions
  readonly #starts = new Map<string, Watched>()
  /** How long the Pods have taken to load that there are. */
  readonly #loadSeconds = new Map<string, number>()
  #wake = Promise.withResolvers<void>()

  constructor(options: StartWatchOptions) {
    this.#options = options
  }

  /** Undefined for a Pod that does not load, or has only begun. */
  progressOf({ metadata: { uid = '' } }: Pod): StartProgress | undefined {
    return this.#starts.get(uid)?.start.progress
  }

  /** How long a Pod has taken to load; undefined if that was not seen, and for one that still does. */
  loadSecondsOf({ metadata: { uid = '' } }: Pod): number | undefined {
    return this.#loadSeconds.get(uid)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods, clock } = this.#options
    const unsubscribe = pods.onChange(({ type, object }) => this.#seen(object, type === 'deleted'))
    const stop = () => this.#wake.resolve()
    signal.addEventListener('abort', stop)
    try {
      for (const pod of pods.list()) this.#seen(pod, false)
      while (!signal.aborted) {
        if (this.#starts.size === 0) {
          this.#wake = Promise.withResolvers<void>()
          await this.#wake.promise
          continue
        }
        await clock.sleep(this.#pauseMs(), signal).catch(() => {})
        if (!signal.aborted) await this.#round(signal)
      }
    } finally {
      signal.removeEventListener('abort', stop)
      unsubscribe()
      this.#starts.clear()
      this.#loadSeconds.clear()
    }
  }

  #seen(pod: Pod, isGone: boolean): void {
    const { uid = '' } = pod.metadata
    const container = isGone || controllingModel(pod) === undefined ? undefined : loadingContainer(pod)
    const known = this.#starts.get(uid)
    if (container === undefined) {
      this.#starts.delete(uid)
      if (isGone) this.#loadSeconds.delete(uid)
      else if (known && statusOf(pod, known.start.container)?.started === true) this.#loaded(uid, known)
      return
    }
    const run = `${container} ${runOf(pod, container)}`
    if (known?.start.run === run) {
      known.start.pod = pod
      return
    }
    const now = this.#options.clock.now()
    const since = startedAt(pod, container) ?? now
    const start = new ObservedStart(pod, container, run, now, since)
    const beganAt = known && known.start.container !== container ? known.beganAt : since
    const firstLogMs = this.#logPauseMs(pod)
    const isAsked = this.#options.askHealth !== undefined && hasStartupProbe(pod, container)
    const firstMs = isAsked ? firstLookMs : firstLogMs
    const mute = isAsked ? 0 : mostMute
    this.#starts.set(uid, { start, beganAt, dueAt: now + firstMs, logDueAt: now + firstLogMs, mute })
    this.#wake.resolve()
  }

  #loaded(uid: string, { beganAt }: Watched): void {
    this.#loadSeconds.set(uid, Math.max(0, Math.round((this.#options.clock.now() - beganAt) / 1000)))
  }

  /** Those who want to know sooner that nothing happens are looked at more often. */
  #logPauseMs(pod: Pod): number {
    return Math.max(shortestLookMs, Math.min(logMs, this.#options.stalledMs(pod) / 3 || logMs))
  }

  #pauseMs(): number {
    const nextAt = Math.min(...[...this.#starts.values()].map(({ dueAt }) => dueAt))
    // More than a pause is a clock that was set back.
    return Math.max(shortestLookMs, Math.min(nextAt - this.#options.clock.now(), logMs))
  }

  async #round(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.now()
    const isDue = (at: number) => at <= now || at > now + logMs
    const due = [...this.#starts.values()]
      .filter(({ dueAt }) => isDue(dueAt))
      .sort((one, other) => one.dueAt - other.dueAt)
    const readsLog = new Set(due.filter(({ logDueAt }) => isDue(logDueAt)).slice(0, mostLogsPerRound))
    const next = due
      .filter((watched) => watched.mute < mostMute || readsLog.has(watched))
      .slice(0, mostPerRound)
      .values()
    const worker = async () => {
      for (const watched of next) await this.#look(watched, readsLog.has(watched), signal)
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
  }

  async #look(watched: Watched, looksAtLog: boolean, signal: AbortSignal): Promise<void> {
    const { clock, onNews, onStall } = this.#options
    const { start } = watched
    const [state, tail] = await Promise.all([
      this.#ask(watched, signal),
      looksAtLog ? this.#tailOf(start, signal) : undefined,
    ])
    if (signal.aborted || this.#starts.get(start.pod.metadata.uid ?? '') !== watched) return
    const now = clock.now()
    const before = { shown: start.progress?.loading, isStalled: start.isStalled }
    start.observe({ now, longestMs: 2 * logMs + logDeadlineMs, state, tail, looksAtLog }, this.#limits(start.pod))
    if (looksAtLog) watched.logDueAt = now + this.#logPauseMs(start.pod)
    watched.dueAt = watched.mute < mostMute ? Math.min(now + askMs, watched.logDueAt) : watched.logDueAt
    const { progress } = start
    if (progress && start.isStalled !== before.isStalled) onStall(start.pod, start.isStalled, progress)
    await this.#giveUpIfStalled(start, signal)
    if (looksAtLog || progress?.loading !== before.shown) onNews(start.pod)
  }

  #limits(pod: Pod): StartLimits {
    const { quietMs, percentIn, redact } = this.#options
    return {
      quietMs: quietMs(pod),
      percentIn: (line) => percentIn(pod, line),
      redact: (line) => redact(pod, line),
    }
  }

  async #giveUpIfStalled({ pod, silentMs, progress }: ObservedStart, signal: AbortSignal): Promise<void> {
    const { stalledMs, giveUp, log } = this.#options
    const limitMs = stalledMs(pod)
    if (limitMs === 0 || silentMs < limitMs) return
    const { loading, lastLine } = progress ?? {}
    const last = lastLine === undefined ? 'it wrote nothing' : `last log line: ${lastLine}`
    const where = loading === undefined ? last : loadingText({ ...loading, stalled: false })
    try {
      await giveUp(pod, `no progress for ${durationText(silentMs)}; ${where}`, signal)
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, pod: pod.metadata.name }, 'a stalled start could not be given up')
    }
  }

  /** Undefined if the program says nothing of how far it is. */
  async #ask(watched: Watched, signal: AbortSignal): Promise<LoadState | undefined> {
    const { askHealth, log } = this.#options
    const { pod, container } = watched.start
    const address = watched.mute < mostMute ? healthAddressOf(pod, container) : undefined
    if (!askHealth || !address) return undefined
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(askDeadlineMs)])
    let state: LoadState | undefined
    try {
      state = loadStateOf(await askHealth(address, deadline))
    } catch (error) {
      log.debug({ pod: pod.metadata.name, reason: errorMessage(error) }, 'a starting Pod says nothing of itself')
    }
    // One that has spoken is asked on: it may be stuck, and speak again.
    watched.mute = state || watched.start.progress?.loading ? 0 : watched.mute + 1
    return state
  }

  /** Undefined if the log cannot be read: that says nothing about the Pod. */
  async #tailOf({ pod, container }: ObservedStart, signal: AbortSignal): Promise<string | undefined> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(logDeadlineMs)])
    try {
      return await this.#options.readLogTail(pod, container, deadline)
    } catch (error) {
      this.#options.log.debug({ pod: pod.metadata.name, reason: errorMessage(error) }, 'no log of a starting Pod')
      return undefined
    }
  }
}

function hasStartupProbe({ spec }: Pod, container: string): boolean {
  const found = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === container)
  return found?.startupProbe?.httpGet !== undefined
}

function statusOf({ status }: Pod, container: string) {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return statuses.find(({ name }) => name === container)
}

function runOf(pod: Pod, container: string): string {
  const found = statusOf(pod, container)
  return found?.containerID ?? String(found?.restartCount ?? 0)
}

function startedAt(pod: Pod, container: string): number | undefined {
  const time = Date.parse(statusOf(pod, container)?.state?.running?.startedAt ?? '')
  return Number.isFinite(time) ? time : undefined
}
