import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Pod } from '../../resources/pod.ts'
import { type StorageUse, exceededStorage, storageLimits } from './storage-limits.ts'

/** A Pod on this node. */
export interface WatchedPod {
  /** `undefined` if nothing of it runs or it is ending. */
  readonly activePod: Pod | undefined
  evict(message: string): void
}

export interface StorageWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  pods(): Iterable<WatchedPod>
  /** `undefined` if it cannot be measured. */
  measure(pod: Pod, signal: AbortSignal): Promise<StorageUse | undefined>
}

/** The kubelet's period. */
const periodMs = 10_000
/** The pause is at least this many times as long as measuring took. */
const restPerWork = 4
const atOnce = 4

/** Measures Pods with storage limits periodically, and evicts those that exceed them. */
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
