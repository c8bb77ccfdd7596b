import type { Clock } from '../foundation/clock.ts'

export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason: Error): void
  /** Lets go of the signal it depends on. */
  release(): void
}

/**
 * A signal that is aborted with another one, or by itself. It hangs on the other by a listener that is taken off again:
 * `AbortSignal.any` hangs on by weak references, which a signal that lives as long as the program gathers by the thousand.
 */
export function linkedSignal(parent: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const follow = () => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => parent.removeEventListener('abort', follow),
  }
}

/** Does something for which there is only so much time. */
export async function withDeadline<T>(
  { clock, ms, message }: { readonly clock: Clock; readonly ms: number; readonly message: string },
  parent: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const linked = linkedSignal(parent)
  const cancel = clock.after(ms, () => linked.abort(new Error(message)))
  try {
    return await act(linked.signal)
  } finally {
    cancel()
    linked.release()
  }
}
