/** Who waits to do something that takes a while, in the order they came. */
const waiting: (() => void)[] = []

/**
 * Waits for a turn of the event loop that nobody else uses for anything long: between two such pieces of work, of
 * whatever requests, everybody else is served. Throws once the signal is aborted, because nobody waits for the rest.
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
  // Its work is done before the loop turns again, in the callbacks of its promise.
  setImmediate(() => {
    waiting.shift()
    if (waiting.length > 0) release()
  })
}
