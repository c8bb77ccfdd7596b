import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { eventKind } from '../resources/event.ts'
import { resourceNameOf } from '../resources/kind.ts'
import { type SqliteStore, type StoreTrouble, openSqliteStore } from '../store/sqlite-store.ts'
import type { StepGate } from '../store/sqlite-file/step-gate.ts'
import type { StoreThread } from '../store/sqlite-file/store-thread.ts'

export interface ClusterStoreOptions {
  readonly path: string
  /** The thread that writes the file. Several clusters may share one. */
  readonly thread?: StoreThread | undefined
  /** How many past events can still be watched. */
  readonly historyLimit?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Called when the store accepts writes again after an interruption. */
  readonly onInterruption?: ((interruption: StoreInterruption) => void) | undefined
  /** Called whenever the store stops or resumes accepting writes. */
  readonly onTrouble?: (() => void) | undefined
  /** For tests: where the store's thread should pause or end. */
  readonly gate?: StepGate | undefined
}

/** The thread that writes the file was lost, and another one has replaced it. */
export interface StoreInterruption {
  /** Why the first thread was lost. */
  readonly reason: string
  /** For how long no write was accepted. */
  readonly lastedMs: number
  /** How many waiting writes were refused. */
  readonly notMade: number
}

/** How many Events are loaded at a start. They are only for people, and a flood of them must not prevent a start. */
const keptEvents = 10_000

/** Opens the file of an embedded cluster. If that fails, the error says what is wrong with it. */
export async function openClusterStore(options: ClusterStoreOptions): Promise<SqliteStore> {
  const { path, thread, historyLimit, clock, metrics, gate } = options
  const say = sayTroubles(options)
  const onTrouble = (trouble: StoreTrouble) => {
    say(trouble)
    options.onTrouble?.()
  }
  const keepNewest = { [resourceNameOf(eventKind)]: keptEvents }
  const store = await openSqliteStore({ path, thread, historyLimit, keepNewest, onTrouble, clock, gate })
  metrics.gauge('sluice_store_waiting_writes', 'Writes that wait for the disk.', [], (gauge) =>
    gauge.set(store.waitingWrites),
  )
  return store
}

/** Reports what happens to the thread that writes the file: in the log, in a metric, and to `onInterruption`. */
function sayTroubles({ log, metrics, clock, onInterruption }: ClusterStoreOptions): (trouble: StoreTrouble) => void {
  const losses = metrics.counter(
    'sluice_store_thread_losses_total',
    'Times the thread with the file was lost; another opens the file again.',
  )
  let lost: { readonly reason: string; readonly at: number } | undefined
  return (trouble) => {
    switch (trouble.type) {
      case 'lost':
        losses.inc()
        lost ??= { reason: trouble.error.message, at: clock.now() }
        return log.error(
          { err: trouble.error, againInMs: trouble.againInMs },
          'the thread with the store was lost: no write is taken until another has opened the file',
        )
      case 'not back':
        return log.error({ err: trouble.error, againInMs: trouble.againInMs }, 'the store cannot be opened again yet')
      case 'back': {
        const { revision, notMade } = trouble
        log.warn({ revision, notMade }, 'the store is open again; writes that waited and were not made were refused')
        if (lost) onInterruption?.({ reason: lost.reason, lastedMs: clock.now() - lost.at, notMade })
        lost = undefined
      }
    }
  }
}
