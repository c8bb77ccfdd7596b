import { abortReason } from './clock.ts'

/** A signal that is aborted when one of several parents is, or by its owner, until it is released. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason: Error): void
  /** Ends the link. To be called when the work that has the signal is over; an aborted signal stays aborted. */
  release(): void
}

/**
 * Like `AbortSignal.any`, but the link can be ended. `AbortSignal.any` adds weak references to its parents with each
 * call, and V8 ends the process if thousands are made in one turn of the event loop. Here a long-lived parent has a
 * listener only while the work lasts.
 */
export function linkSignals(...parents: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const own = new AbortController()
  const followed: Array<{ readonly parent: AbortSignal; readonly onAbort: () => void }> = []
  const release = () => {
    for (const { parent, onAbort } of followed.splice(0)) parent.removeEventListener('abort', onAbort)
  }
  const abort = (reason: Error) => {
    release()
    own.abort(reason)
  }
  for (const parent of parents) {
    if (!parent || own.signal.aborted) continue
    if (parent.aborted) {
      abort(abortReason(parent))
      continue
    }
    const onAbort = () => abort(abortReason(parent))
    followed.push({ parent, onAbort })
    parent.addEventListener('abort', onAbort, { once: true })
  }
  return { signal: own.signal, abort, release }
}
