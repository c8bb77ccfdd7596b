import type { ModelLoading } from '../../resources/model.ts'
import type { Pod } from '../../resources/pod.ts'
import type { LoadState } from './load-state.ts'
import { mustMove, nextShown } from './shown-loading.ts'
import { type StartProgress, shownLine } from './start-progress.ts'

/** What one look at a start has found. */
export interface StartLook {
  readonly now: number
  /** More than this has not passed since the last look: it is a jump of the clock. */
  readonly longestMs: number
  /** What the program says of itself; undefined if it says nothing. */
  readonly state: LoadState | undefined
  /** The end of its log; undefined if it cannot be read, or was not looked at. */
  readonly tail: string | undefined
  readonly looksAtLog: boolean
}

export interface StartLimits {
  /** How long nothing may move before that is said; 0: for ever. */
  readonly quietMs: number
  /** How far a line of the log says that the load is, in percent. */
  readonly percentIn: (line: string) => number | undefined
  /** Removes from a line what nobody may see. */
  readonly redact: (line: string) => string
}

/** It counts whole seconds. */
const saidSlackMs = 1_500

interface Freshness {
  /** It was said just now. */
  readonly isFresh: boolean
  readonly hasWritten: boolean
  readonly passedMs: number
}

/** One run of a container that loads a model, as it is seen from outside. */
export class ObservedStart {
  pod: Pod
  /** The container and its run: another one is a new start. */
  readonly run: string
  readonly container: string
  readonly #sinceMs: number
  #lookedAt: number
  #loadingMs = 0
  #silentMs = 0
  /** With its time, so that an equal line that was written again counts. */
  #tail = ''
  #lastLine: string | undefined
  #state: LoadState | undefined
  /** For how long what the program says of itself has not changed. */
  #stillMs = 0
  #shown: ModelLoading | undefined
  #isKnown = false

  constructor(pod: Pod, container: string, run: string, now: number, sinceMs: number) {
    this.pod = pod
    this.container = container
    this.run = run
    this.#lookedAt = now
    this.#sinceMs = sinceMs
  }

  get silentMs(): number {
    return this.#silentMs
  }

  get isStalled(): boolean {
    return this.#shown?.stalled === true
  }

  /** Undefined until something is known. */
  get progress(): StartProgress | undefined {
    if (!this.#isKnown) return undefined
    const seen = { loadingMs: this.#loadingMs, lastLine: this.#lastLine, silentMs: this.#silentMs }
    return this.#shown ? { ...seen, loading: this.#shown } : seen
  }

  observe(look: StartLook, limits: StartLimits): void {
    const { now, tail, looksAtLog } = look
    const passedMs = Math.min(Math.max(0, now - this.#lookedAt), look.longestMs)
    this.#lookedAt = now
    this.#loadingMs += passedMs
    const hasWritten = tail !== undefined && tail !== this.#tail
    if (tail !== undefined) this.#readTail(tail, limits)
    const state = look.state ?? this.#stateInLog(hasWritten, limits)
    const hasMoved = this.#observeState(state, { isFresh: look.state !== undefined, hasWritten, passedMs })
    // Nothing at all can be seen of it, so nothing can be said against it.
    const isBlind = looksAtLog && tail === undefined && look.state === undefined
    this.#silentMs = hasMoved || hasWritten || isBlind ? 0 : this.#silentMs + passedMs
    this.#isKnown ||= looksAtLog || look.state !== undefined
    this.#show(now, limits)
  }

  #readTail(tail: string, { redact }: StartLimits): void {
    this.#tail = tail
    const line = shownLine(tail)
    this.#lastLine = line === undefined ? undefined : redact(line)
  }

  #stateInLog(hasWritten: boolean, { percentIn }: StartLimits): LoadState | undefined {
    const percent = this.#lastLine === undefined ? undefined : percentIn(this.#lastLine)
    if (percent !== undefined) return { phase: 'Loading', percent }
    // Whatever it writes after the last of its files is about something else.
    return hasWritten && this.#state?.percent === 100 ? { phase: 'Preparing' } : this.#state
  }

  /** Whether the program moves, as far as it says so, or writes something while it says nothing else. */
  #observeState(state: LoadState | undefined, { isFresh, hasWritten, passedMs }: Freshness): boolean {
    const before = this.#state
    this.#state = state
    if (state === undefined) return false
    const saidMs = isFresh ? state.stillMs : undefined
    const expectedMs = this.#stillMs + passedMs
    const hasChanged = before?.phase !== state.phase || before.percent !== state.percent || before.bytes !== state.bytes
    // It sees more than the figure that it tells, such as pages that memory has lost and are read again.
    const saysMore = saidMs !== undefined && saidMs + saidSlackMs < expectedMs
    const hasMoved = hasChanged || saysMore || (!isFresh && hasWritten)
    this.#stillMs = saidMs ?? (hasMoved ? 0 : expectedMs)
    return hasMoved
  }

  #show(now: number, { quietMs }: StartLimits): void {
    if (this.#state === undefined) return
    const isStalled = quietMs > 0 && this.#stillMs >= quietMs && mustMove(this.#state)
    const movedAtMs = now - this.#stillMs
    this.#shown = nextShown(this.#shown, { state: this.#state, sinceMs: this.#sinceMs, movedAtMs, isStalled })
  }
}
