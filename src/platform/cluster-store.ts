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
  /** Where its file is written, where several clusters share one. */
  readonly thread?: StoreThread | undefined
  /** How many events can be watched from the past. */
  readonly historyLimit?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Told when writes are taken again after they were not for a while. */
  readonly onInterruption?: ((interruption: StoreInterruption) => void) | undefined
  /** Told whenever writes are taken no longer, or again. */
  readonly onTrouble?: (() => void) | undefined
  /** For tests: where the store's thread is to stop, or to end. */
  readonly gate?: StepGate | undefined
}

/** The thread with the file was lost, and another has it now. */
export interface StoreInterruption {
  /** Why the first of them was lost. */
  readonly reason: string
  /** For how long no write was taken. */
  readonly lastedMs: number
  /** Writes that waited for the disk and were refused. */
  readonly notMade: number
}

/** Of Events, how many a start finds: they are for people, and who floods must not keep a cluster from starting. */
const keptEvents = 10_000

/** The file of an embedded cluster. Rejects with what is wrong with it. */
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

/** Says what became of the thread that has the store's file, in the log, in a metric, and to who wants to know. */
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
