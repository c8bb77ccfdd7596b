/** Those who wait for a turn to do something that takes a while, in the order in which they came. */
const waiting: (() => void)[] = []

/**
 * Waits for a turn of the event loop in which no other long piece of work is done, for any request. Everybody else is
 * served between two such pieces. Throws once the signal is aborted, because then nobody waits for the result.
 */
export async function nextTurn(signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(release)
  })
  signal?.throwIfAborted()
}

function release(): void {
  const next = waiting[0]
  next?.()
  // The work is done in the callbacks of the promise, before the loop turns again.
  setImmediate(() => {
    waiting.shift()
    if (waiting.length > 0) release()
  })
}
