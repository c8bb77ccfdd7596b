import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { LoadProgress } from './load-progress.ts'

/** Also how often the counters are looked at, so that it is known since when nothing moves. */
const lookMs = 1_000
/** After this long without a byte, the log says so. */
const stillSecondsTold = 30

/**
 * Writes into the log how far a load is: each phase, each tenth of it, and when nothing moves any more. A load of less
 * than a second says nothing. Returns how to end it.
 */
export function tellLoading(progress: LoadProgress, clock: Clock, log: Logger): () => void {
  let told = ''
  let isStillTold = false
  let cancel = () => {}
  const look = () => {
    cancel = clock.after(lookMs, look)
    const { phase, bytes, totalBytes, stillSeconds } = progress.report()
    const tenth = totalBytes > 0 ? Math.floor((bytes / totalBytes) * 10) : 0
    const now = `${phase} ${tenth}`
    if (now !== told) log.info({ phase, percent: tenth * 10, bytes, totalBytes }, 'loading the model')
    told = now
    const isStill = stillSeconds >= stillSecondsTold
    if (isStill && !isStillTold) log.warn({ phase, bytes, totalBytes, stillSeconds }, 'nothing of the model is read')
    isStillTold = isStill
  }
  cancel = clock.after(lookMs, look)
  return () => cancel()
}
