import { isPodReady, type ContainerStatus, type Pod } from '../resources/pod.ts'
import { failuresAnnotation } from './model-pod.ts'

/** Why a Pod does not serve. */
export interface PodTrouble {
  /** `failing`: it will not get better by itself; the others pass. */
  readonly outlook: 'starting' | 'waiting' | 'failing'
  /** One word, for conditions and events. */
  readonly reason: string
  /** One sentence. */
  readonly message: string
}

/** After this many failed starts in a row, another one is not expected to help. */
const hopelessRestarts = 3

const refusedImages = new Set(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'])
const refusedContainers = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'])

/** Undefined for a Pod that is ready. */
export function podTrouble(pod: Pod): PodTrouble | undefined {
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
  if (pod.status?.phase === 'Running') {
    return {
      outlook: 'starting',
      reason: 'Loading',
      message: `The engine is loading the model in ${pod.metadata.name}.`,
    }
  }
  return { outlook: 'starting', reason: 'Starting', message: `${pod.metadata.name} is starting.` }
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
  const told = pod.status?.message ?? pod.status?.reason
  const how = told === undefined && ended ? exitOf(ended) : sentence(told ?? 'it finished')
  const outlook = failuresOf(pod) >= hopelessRestarts ? 'failing' : 'waiting'
  return { outlook, reason: pod.status?.reason ?? 'PodFailed', message: `${pod.metadata.name} failed: ${how}` }
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
