import { abortReason } from './clock.ts'

/** A signal that is aborted with any of others, or by its owner, as long as it is linked to them. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason: Error): void
  /** Ends the link: to be called when whatever had the signal is over. What was aborted stays so. */
  release(): void
}

/**
 * What `AbortSignal.any` does, with an end. That one keeps weak references on the signals it follows, one for each
 * call, which somebody who makes thousands of them in one turn of the event loop cannot have: V8 ends the process for
 * it. Here the long-lived signal has a listener as long as the work lasts, and nothing afterwards.
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
