import { asError } from './errors.ts'

/**
 * The source of time. Everything that waits or measures takes a Clock as an argument, so that tests can set the time.
 */
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

/** Implements `sleep` with `after`, for all Clocks. */
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

/** The reason of an aborted signal, always as an Error. */
export function abortReason(signal: AbortSignal): Error {
  return asError(signal.reason)
}
