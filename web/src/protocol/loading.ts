import { isRecord } from './json-value.ts'

export type LoadingPhase = 'Starting' | 'Copying' | 'Reading' | 'Loading' | 'Preparing'

/** How far a model is that is being loaded. */
export interface Loading {
  phase: LoadingPhase
  /** Undefined while it cannot be told. */
  percent: number | undefined
  bytes: number | undefined
  totalBytes: number | undefined
  /** Whether nothing has moved for a while. */
  stalled: boolean
}

const PHASES: readonly LoadingPhase[] = ['Starting', 'Copying', 'Reading', 'Loading', 'Preparing']
/** A load that is over sooner is not worth a word about how long it takes. */
const WORTH_TELLING_SECONDS = 5

export function parseLoading(value: unknown): Loading | undefined {
  if (!isRecord(value)) return undefined
  const phase = PHASES.find((known) => known === value['phase'])
  if (phase === undefined) return undefined
  const percent = countOf(value['percent'])
  return {
    phase,
    percent: percent === undefined ? undefined : Math.min(100, percent),
    bytes: countOf(value['bytes']),
    totalBytes: countOf(value['totalBytes']),
    stalled: value['stalled'] === true,
  }
}

export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

const WORDS: Record<LoadingPhase, string> = {
  Starting: 'Starting the program that runs it',
  Copying: 'Copying its files to the machine that runs it',
  Reading: 'Reading its files',
  Loading: 'Loading it into memory',
  Preparing: 'Almost there: it prepares to answer',
}

/** `Reading its files: 45 %, 2.1 of 4.7 GB.` */
export function loadingSentence({ phase, percent, bytes, totalBytes, stalled }: Loading): string {
  const amount = bytes === undefined || totalBytes === undefined ? '' : `, ${amountText(bytes, totalBytes)}`
  const share = percent === undefined ? '' : `: ${Math.floor(percent)} %${amount}`
  const still = stalled ? ' Nothing has moved for a while; its disk may be stuck.' : ''
  return `${WORDS[phase]}${share}.${still}`
}

/** Empty for a model that loads in a moment. */
export function lastTimeSentence(seconds: number | undefined): string {
  if (seconds === undefined || seconds < WORTH_TELLING_SECONDS) return ''
  const minutes = Math.round(seconds / 60)
  return `Last time it took about ${seconds < 90 ? `${Math.round(seconds)} s` : `${minutes} min`}.`
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Both in the unit of the whole. */
function amountText(bytes: number, totalBytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, totalBytes)) / 3))
  const digits = power > 0 && totalBytes / 1000 ** power < 100 ? 1 : 0
  const inUnit = (count: number) => (count / 1000 ** power).toFixed(digits)
  return `${inUnit(bytes)} of ${inUnit(totalBytes)} ${UNITS[power] ?? 'B'}`
}
