import type { LoadingPhase, ModelLoading } from '../../resources/model.ts'
import type { LoadState } from './load-state.ts'

export interface LoadingView {
  readonly state: LoadState
  readonly sinceMs: number
  readonly movedAtMs: number
  readonly isStalled: boolean
}

/** How much older than the last move a status may say it was: writing it again and again would help nobody. */
const movedAtSlackMs = 30_000
/** In these phases bytes have to move; in the others a program computes. */
const movingPhases: ReadonlySet<LoadingPhase> = new Set(['Copying', 'Reading', 'Loading'])

export function mustMove({ phase }: LoadState): boolean {
  return movingPhases.has(phase)
}

/**
 * What a Model's status says of a load. It stays the same object until it is worth writing: another phase, another
 * percent, a load that stalls or goes on again, and now and then that it moves at all.
 */
export function nextShown(before: ModelLoading | undefined, view: LoadingView): ModelLoading {
  const shown = shownLoading(view)
  const isSame =
    before !== undefined &&
    before.phase === shown.phase &&
    before.percent === shown.percent &&
    before.stalled === shown.stalled &&
    before.since === shown.since &&
    view.movedAtMs - Date.parse(before.movedAt) < movedAtSlackMs
  return isSame ? before : shown
}

function shownLoading({ state, sinceMs, movedAtMs, isStalled }: LoadingView): ModelLoading {
  const { phase, percent, bytes, totalBytes } = state
  const isMeasured = percent !== undefined && mustMove(state)
  return {
    phase,
    ...(isMeasured ? { percent } : {}),
    ...(isMeasured && bytes !== undefined && totalBytes !== undefined ? { bytes, totalBytes } : {}),
    progress: progressOf(phase, isMeasured ? percent : undefined, isStalled),
    since: timestamp(sinceMs),
    movedAt: timestamp(movedAtMs),
    ...(isStalled ? { stalled: true } : {}),
  }
}

/** A cell of `kubectl get models`. */
function progressOf(phase: LoadingPhase, percent: number | undefined, isStalled: boolean): string {
  const progress = percent === undefined ? phase : `${percent} %`
  return isStalled ? `${progress}, stalled` : progress
}

const phaseWords: Readonly<Record<LoadingPhase, string>> = {
  Starting: 'the engine starts',
  Copying: 'its files are being copied to the node',
  Reading: 'its files are being read',
  Loading: 'the weights are being loaded',
  Preparing: 'the engine is preparing to answer',
}

/** `its files are being read, 45 % (2.1 of 4.7 GB)`. */
export function loadingText({ phase, percent, bytes, totalBytes, stalled }: ModelLoading): string {
  const share = percent === undefined ? '' : `, ${percent} %`
  const amount = bytes === undefined || totalBytes === undefined ? '' : ` (${bytesText(bytes, totalBytes)})`
  return `${phaseWords[phase]}${share}${amount}${stalled === true ? ', but nothing has moved for a while' : ''}`
}

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Both in the unit of the whole: `0.4 of 4.7 GB`. */
function bytesText(bytes: number, totalBytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, totalBytes)) / 3)))
  const digits = power > 0 && totalBytes / 1000 ** power < 100 ? 1 : 0
  const inUnit = (count: number) => (count / 1000 ** power).toFixed(digits)
  return `${inUnit(bytes)} of ${inUnit(totalBytes)} ${units[power] ?? 'B'}`
}

function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
