import { asError } from './errors.ts'

/** Time as an argument: everything that waits or measures takes a Clock, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls back once after `ms`, unless the returned function is called first. */
  after(ms: number, callback: () => void): CancelTimer
}

export type CancelTimer = () => void

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  sleep: (ms, signal) => sleepWith(systemClock, ms, signal),
}

/** The one implementation of `sleep` over `after`, shared by every Clock. */
export function sleepWith(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal))
    const onAbort = () => {
      cancel()
      if (signal) reject(abortReason(signal))
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Why a signal was aborted, always as an Error. */
export function abortReason(signal: AbortSignal): Error {
  return asError(signal.reason)
}
