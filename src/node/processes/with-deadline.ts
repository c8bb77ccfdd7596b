import type { Clock } from '../../foundation/clock.ts'
import { linkSignals } from '../../foundation/linked-signal.ts'

/** Runs `act` with a signal that is also aborted after `ms`. */
export async function withDeadline<T>(
  { clock, ms, message }: { readonly clock: Clock; readonly ms: number; readonly message: string },
  parent: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const linked = linkSignals(parent)
  const cancel = clock.after(ms, () => linked.abort(new Error(message)))
  try {
    return await act(linked.signal)
  } finally {
    cancel()
    linked.release()
  }
}
