import type { ModelLoading } from '../../resources/model.ts'
import type { Pod } from '../../resources/pod.ts'
import { loadingText } from './shown-loading.ts'

/** What is seen of a Pod that is loading its model. */
export interface StartProgress {
  /** How long it has been loading. */
  readonly loadingMs: number
  /** The last line of its log; undefined if there is none, or if it cannot be read. */
  readonly lastLine: string | undefined
  /** For how long nothing of that has changed. */
  readonly silentMs: number
  /** How far it is, if it says so. */
  readonly loading?: ModelLoading
}

/** On a Pod that was given up while it was starting: why. */
export const stalledAnnotation = 'sluice.dev/stalled'

/** The container that copies a Model's files to the node, before the engine. */
export const weightsContainer = 'weights'

const longestLine = 200
// oxlint-disable-next-line no-control-regex
const unprintable = /\u001b\[[0-9;?]*[A-Za-z]|[\u0000-\u001f\u007f-\u009f]/g

/** The container that is loading: it runs and has not started, as its startup probe says. */
export function loadingContainer({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp !== undefined || (status?.phase !== 'Running' && status?.phase !== 'Pending')) {
    return undefined
  }
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  return statuses.find(({ state, started }) => state?.running !== undefined && started !== true)?.name
}

/** The last line of a log as it is shown to people: a bar that redraws itself, only as it was drawn last. */
export function shownLine(text: string): string | undefined {
  const line = text.trimEnd().split('\n').at(-1) ?? ''
  const [, afterTime = ''] = /^\S+Z? ?(.*)$/s.exec(line) ?? []
  const shown = (afterTime.trimEnd().split('\r').at(-1) ?? '').replace(unprintable, '').trim()
  return shown === '' ? undefined : shown.length > longestLine ? `${shown.slice(0, longestLine)}…` : shown
}

/** `for 12 min: its files are being read, 45 %`, or `for 12 min; last log line 40 s ago: Loading shards 3/160`. */
export function progressText({ loadingMs, lastLine, silentMs, loading }: StartProgress): string {
  const since = `for ${durationText(loadingMs)}`
  if (loading !== undefined) return `${since}: ${loadingText(loading)}`
  return lastLine === undefined ? since : `${since}; last log line ${durationText(silentMs)} ago: ${lastLine}`
}

/** Coarse, so that a status is not written again for every second. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds - (seconds % 10)} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
