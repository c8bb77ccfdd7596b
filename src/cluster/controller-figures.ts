import type { Metrics } from '../foundation/metrics.ts'

/** Counts by name, one for each controller. */
class Tally {
  readonly counts = new Map<string, number>()

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }
}

/** What the queues and recorders of this process count, for all of its clusters. */
export const controllerFigures = {
  retries: new Tally(),
  braked: new Tally(),
  eventsDropped: new Tally(),
}

export function exportControllerFigures(metrics: Metrics): void {
  const { retries, braked, eventsDropped } = controllerFigures
  metrics.counter(
    'sluice_controller_queue_retries_total',
    'Reconciles that failed and are tried again, by queue',
    ['queue'],
    (counter) => put(retries, (queue, count) => counter.inc({ queue }, count), counter),
  )
  metrics.counter(
    'sluice_controller_queue_braked_total',
    'Keys that were reconciled so often that they are held back, by queue',
    ['queue'],
    (counter) => put(braked, (queue, count) => counter.inc({ queue }, count), counter),
  )
  metrics.counter(
    'sluice_controller_events_dropped_total',
    'Events that were not written, because there were too many about one object or the cluster did not take them',
    ['component'],
    (counter) => put(eventsDropped, (component, count) => counter.inc({ component }, count), counter),
  )
}

function put(tally: Tally, add: (name: string, count: number) => void, counter: { reset(): void }): void {
  counter.reset()
  for (const [name, count] of tally.counts) add(name, count)
}
