import { setImmediate } from 'node:timers/promises'

/** Lets everybody else have their turn of the event loop. Throws once the signal is aborted: nobody waits for the rest. */
export async function nextTurn(signal?: AbortSignal): Promise<void> {
  await setImmediate()
  signal?.throwIfAborted()
}
