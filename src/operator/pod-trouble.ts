import { isPodReady, type ContainerStatus, type Pod } from '../resources/pod.ts'
import type { ModelLoading } from '../resources/model.ts'
import { failuresAnnotation } from './model-pod.ts'
import {
  type StartProgress,
  loadingContainer,
  progressText,
  stalledAnnotation,
  weightsContainer,
} from './starts/start-progress.ts'

/** Why a Pod does not serve. */
export interface PodTrouble {
  /** `failing`: it will not get better by itself; the others pass. */
  readonly outlook: 'starting' | 'waiting' | 'failing'
  /** One word, for conditions and events. */
  readonly reason: string
  /** One sentence. */
  readonly message: string
  /** How far it is, if it loads and says so. */
  readonly loading?: ModelLoading
}

/** After this many failed starts in a row, another one is not expected to help. */
const hopelessRestarts = 3

const refusedImages = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'])
const refusedContainers = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'])

/** Undefined for a Pod that is ready. `progress`: what is seen of one that loads. */
export function podTrouble(pod: Pod, progress?: StartProgress): PodTrouble | undefined {
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return finishedTrouble(pod)
  if (isPodReady(pod)) return undefined
  const unschedulable = unschedulableMessage(pod)
  if (unschedulable !== undefined) {
    return { outlook: 'waiting', reason: 'NoRoom', message: `No node has room yet: ${sentence(unschedulable)}` }
  }
  for (const status of pod.status?.containerStatuses ?? []) {
    const trouble = containerTrouble(status)
    if (trouble) return trouble
  }
  const container = loadingContainer(pod)
  if (pod.status?.phase === 'Running' || container === weightsContainer) return loadingTrouble(pod, container, progress)
  return { outlook: 'starting', reason: 'Starting', message: `${pod.metadata.name} is starting.` }
}

function loadingTrouble(pod: Pod, container: string | undefined, progress: StartProgress | undefined): PodTrouble {
  const { name } = pod.metadata
  const loading = progress?.loading
  if (progress && loading) {
    const reason = loading.stalled === true ? 'LoadingStalled' : 'Loading'
    const message = sentence(`The model has been loading in ${name} ${progressText(progress)}`)
    return { outlook: 'starting', reason, message, loading }
  }
  const what =
    container === weightsContainer
      ? "The model's files are being copied to the node"
      : 'The engine is loading the model'
  const how = progress ? ` ${progressText(progress)}` : ''
  return { outlook: 'starting', reason: 'Loading', message: sentence(`${what} in ${name}${how}`) }
}

/** The scheduler's message, if it found no place. */
export function unschedulableMessage(pod: Pod): string | undefined {
  const placed = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (placed?.status !== 'False' || placed.reason !== 'Unschedulable') return undefined
  return placed.message ?? 'no node fits'
}

function containerTrouble({ image, state, lastState, restartCount }: ContainerStatus): PodTrouble | undefined {
  const waiting = state?.waiting
  if (waiting?.reason !== undefined && refusedImages.has(waiting.reason)) {
    const message = `The image ${image} was refused: ${sentence(waiting.message ?? waiting.reason)}`
    return { outlook: 'failing', reason: waiting.reason, message }
  }
  if (waiting?.reason !== undefined && refusedContainers.has(waiting.reason)) {
    const message = `The engine cannot be started: ${sentence(waiting.message ?? waiting.reason)}`
    return { outlook: 'failing', reason: waiting.reason, message }
  }
  if (waiting?.reason === 'ContainerCreating' && waiting.message !== undefined) {
    return {
      outlook: 'waiting',
      reason: 'Starting',
      message: `The engine waits to be started: ${sentence(waiting.message)}`,
    }
  }
  const ended = state?.terminated ?? (waiting ? lastState?.terminated : undefined)
  if (waiting?.reason === 'CrashLoopBackOff') {
    const outlook = restartCount >= hopelessRestarts ? 'failing' : 'waiting'
    const how = ended ? exitOf(ended) : sentence(waiting.message ?? 'it ended again and again')
    return { outlook, reason: 'CrashLoopBackOff', message: `The engine ended ${restartCount + 1} times; last: ${how}` }
  }
  if (ended) return { outlook: 'waiting', reason: 'EngineEnded', message: `The engine ended: ${exitOf(ended)}` }
  return undefined
}

function finishedTrouble(pod: Pod): PodTrouble {
  const ended = pod.status?.containerStatuses?.find(({ state }) => state?.terminated)?.state?.terminated
  const stalled = pod.metadata.annotations?.[stalledAnnotation]
  const told = stalled ?? pod.status?.message ?? pod.status?.reason
  const how = told === undefined && ended ? exitOf(ended) : sentence(told ?? 'it finished')
  const outlook = failuresOf(pod) >= hopelessRestarts ? 'failing' : 'waiting'
  const reason = stalled === undefined ? (pod.status?.reason ?? 'PodFailed') : 'Stalled'
  return { outlook, reason, message: `${pod.metadata.name} failed: ${how}` }
}

/**
 * By convention, this is how a program ends that cannot use its command line (as those do that read it with argparse),
 * and ours if it cannot use its files.
 */
const unusableExitCode = 2
/** After this long a start that was given up may be tried again: files may have changed that nobody here can see. */
export const givenUpMs = 5 * 60_000

/** Why no start of this Pod's engine can succeed, if that is known: it is not tried again and again. */
export function hopelessEnd({ status }: Pod): string | undefined {
  const engine = status?.containerStatuses?.find(({ name }) => name === 'engine')
  const ended = engine?.state?.terminated ?? (engine?.state?.waiting ? engine.lastState?.terminated : undefined)
  if (ended?.exitCode !== unusableExitCode) return undefined
  const next = `Change the Model; as it is, it is not tried again for ${givenUpMs / 60_000} minutes.`
  return `The engine refuses to start: ${exitOf(ended)} ${next}`
}

/** When a finished Pod ended, as far as that is known. */
export function finishedAt(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''))
  const known = [...ends, Date.parse(pod.status?.startTime ?? pod.metadata.creationTimestamp ?? '')]
  return Math.max(0, ...known.filter(Number.isFinite))
}

/** How many Pods failed before this one. */
export function failuresOf(pod: Pod): number {
  const count = Number(pod.metadata.annotations?.[failuresAnnotation] ?? 0)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}

interface Exit {
  readonly exitCode: number
  readonly signal?: number | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

function exitOf({ exitCode, signal, reason, message }: Exit): string {
  const code = signal === undefined || signal === 0 ? `exit code ${exitCode}` : `signal ${signal}`
  const why = reason === undefined || reason === 'Error' || reason === 'Completed' ? '' : ` (${reason})`
  const lastLine = message?.trim().split('\n').at(-1)?.slice(0, 500)
  return sentence(lastLine ? `${code}${why}: ${lastLine}` : code + why)
}

function sentence(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
}
