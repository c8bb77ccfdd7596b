import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Pod } from '../../resources/pod.ts'
import { type StorageUse, exceededStorage, storageLimits } from './storage-limits.ts'

/** A Pod that is on this node. */
export interface WatchedPod {
  /** `undefined` once nothing of it will run any more. */
  readonly activePod: Pod | undefined
  evict(message: string): void
}

export interface StorageWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  pods(): Iterable<WatchedPod>
  /** `undefined` where it cannot be told. */
  measure(pod: Pod, signal: AbortSignal): Promise<StorageUse | undefined>
}

/** As often as the kubelet looks. */
const periodMs = 10_000
/** Of the time that looking takes, at least so much is spent not looking. */
const restPerWork = 4
const atOnce = 4

/** Looks every few seconds at what Pods with limits store, and evicts those that store more. */
export async function watchStorage(options: StorageWatchOptions, signal: AbortSignal): Promise<void> {
  const { clock } = options
  let tookMs = 0
  try {
    while (!signal.aborted) {
      await clock.sleep(Math.max(periodMs, tookMs * restPerWork), signal)
      const begin = clock.now()
      await lookOnce(options, signal)
      tookMs = clock.now() - begin
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

export async function lookOnce(options: StorageWatchOptions, signal: AbortSignal): Promise<void> {
  const pods = [...options.pods()].values()
  const work = async () => {
    for (const watched of pods) {
      if (signal.aborted) return
      await look(watched, options, signal)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

async function look(watched: WatchedPod, options: StorageWatchOptions, signal: AbortSignal): Promise<void> {
  const pod = watched.activePod
  const limits = pod && storageLimits(pod)
  if (!limits) return
  const use = await options.measure(pod, signal)
  if (signal.aborted) return
  if (!use) {
    const { namespace, name } = pod.metadata
    options.log.warn({ pod: `${namespace}/${name}` }, 'what a Pod stores could not be measured')
    return
  }
  const message = exceededStorage(limits, use)
  if (message !== undefined) watched.evict(message)
}
