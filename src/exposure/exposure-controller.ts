import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { EventRecorder } from '../cluster/event-recorder.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import { WorkQueue } from '../cluster/work-queue.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { isStatusError } from '../resources/status-error.ts'
import { type ServiceExporter, serviceExporterKind } from '../resources/service-exporter.ts'
import { changesOf, statusFor } from './exporter-status.ts'
import type { RouteTable } from './route-table.ts'

export interface ExposureControllerOptions {
  readonly client: ClusterClient
  readonly exporters: ObjectCache<ServiceExporter>
  readonly routes: RouteTable
  /** Where people look for why something does not work. */
  readonly events?: Pick<EventRecorder, 'record'> | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Tells each ServiceExporter where it is reachable, or why it is not. */
export class ExposureController {
  readonly #options: ExposureControllerOptions
  readonly #queue: WorkQueue

  constructor(options: ExposureControllerOptions) {
    this.#options = options
    const { clock, log } = options
    this.#queue = new WorkQueue({ name: 'exposure', clock, log, reconcile: (ref, signal) => this.#tell(ref, signal) })
  }

  /** Until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { exporters, routes } = this.#options
    const forget = routes.onChange((change) => {
      if (change === 'all') this.#addAll()
      else for (const key of change.exporters) this.#add(exporters.get(refFromKey(key)))
    })
    this.#addAll()
    try {
      await this.#queue.run(signal)
    } finally {
      forget()
    }
  }

  #addAll(): void {
    for (const exporter of this.#options.exporters.list()) this.#add(exporter)
  }

  /** Queues an exporter whose status does not say what it should. */
  #add(exporter: ServiceExporter | undefined): void {
    const { routes, clock } = this.#options
    const verdict = exporter && routes.verdictOn(keyOf(refOf(exporter)))
    if (verdict && statusFor(exporter, verdict, clock.now())) this.#queue.add(refOf(exporter))
  }

  async #tell(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs: number } | void> {
    const { client, exporters, routes, events, clock, log } = this.#options
    // Before everything has been seen a Service may only seem to be missing.
    if (!routes.synced) return { requeueAfterMs: 100 }
    const exporter = exporters.get(ref)
    const verdict = routes.verdictOn(keyOf(ref))
    const status = exporter && verdict && statusFor(exporter, verdict, clock.now())
    if (!exporter || !verdict || !status) return
    try {
      await client.updateStatus(serviceExporterKind, { ...exporter, status }, signal)
    } catch (error) {
      // It changed or went meanwhile; the change itself comes back here through the cache.
      if (isStatusError(error, 'Conflict', 'NotFound')) return
      throw error
    }
    for (const { type, reason, message } of changesOf(exporter.status, status)) {
      events?.record(exporter, type, reason, message)
      log.info({ exporter: keyOf(ref), url: status.url, reason, type }, 'an exposed service has changed')
    }
  }
}

/** The other way round than `keyOf`. */
function refFromKey(key: string): ObjectRef {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}
