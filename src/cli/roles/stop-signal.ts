import { type Clock, systemClock } from '../../foundation/clock.ts'

/** A terminal tells Ctrl-C to all programs in its foreground, and those that run this one pass it on. */
const onePressMs = 1_000

/**
 * Aborted when this program is asked to end. Asked again later, it ends at once: somebody does not want to wait. What
 * comes within a second is one press of Ctrl-C that came by several ways.
 */
export function stopSignal(
  program: Pick<NodeJS.Process, 'on' | 'exit'> = process,
  clock: Pick<Clock, 'now'> = systemClock,
): AbortSignal {
  const stop = new AbortController()
  let askedAt = 0
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    program.on(signal, () => {
      if (!stop.signal.aborted) {
        askedAt = clock.now()
        stop.abort()
      } else if (clock.now() - askedAt >= onePressMs) program.exit(130)
    })
  }
  return stop.signal
}
