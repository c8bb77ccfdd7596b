import type { ObjectCache } from '../cluster/informer.ts'
import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import type { ExposureFacts, HostOwners } from './host-owners.ts'
import { type ExporterVerdict, type ExposureRoute, planRoutes, type RoutePlan } from './plan-routes.ts'

export interface RouteTableOptions {
  readonly exporters: ObjectCache<ServiceExporter>
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly facts: ExposureFacts
}

/** The routes of one cluster, planned anew after changes: many at once cost one plan. */
export class RouteTable {
  readonly #options: RouteTableOptions
  readonly #listeners = new Set<() => void>()
  readonly #unsubscribe: ReadonlyArray<() => void>
  #facts: ExposureFacts
  #plan: RoutePlan | undefined
  /** As of the last plan that was made of everything there was. */
  #owners: HostOwners = new Map()
  #tellingSoon = false

  constructor(options: RouteTableOptions) {
    this.#options = options
    this.#facts = options.facts
    this.#unsubscribe = [options.exporters, options.services, options.slices].map((cache) =>
      cache.onChange(() => this.#invalidate()),
    )
  }

  find(host: string): ExposureRoute | undefined {
    return this.#current().routes.get(host)
  }

  /** By host, whole. */
  get routes(): ReadonlyMap<string, ExposureRoute> {
    return this.#current().routes
  }

  /** Where hosts lead is known before it is known where the edge listens: this is the port that clients use. */
  listensAt(port: number): void {
    if (port === this.#facts.port) return
    this.#facts = { ...this.#facts, port }
    this.#invalidate()
  }

  /** The domain of all hosts may be changed: everybody moves at once. */
  livesBelow(proxyDomain: string): void {
    if (proxyDomain === this.#facts.proxyDomain) return
    this.#facts = { ...this.#facts, proxyDomain }
    this.#invalidate()
  }

  verdictOn(exporter: string): ExporterVerdict | undefined {
    return this.#current().verdicts.get(exporter)
  }

  get verdicts(): ReadonlyMap<string, ExporterVerdict> {
    return this.#current().verdicts
  }

  /** False until everything it is planned from has been seen. */
  get synced(): boolean {
    const { exporters, services, slices } = this.#options
    return exporters.synced && services.synced && slices.synced
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  #invalidate(): void {
    this.#plan = undefined
    if (this.#tellingSoon) return
    this.#tellingSoon = true
    queueMicrotask(() => {
      this.#tellingSoon = false
      for (const listener of this.#listeners) listener()
    })
  }

  #current(): RoutePlan {
    const { exporters, services, slices } = this.#options
    this.#plan ??= planRoutes(exporters.list(), services.list(), slices.list(), this.#facts, this.#owners)
    // Before all are seen, whoever is seen first would seem to be the first.
    if (exporters.synced) this.#owners = this.#plan.owners
    return this.#plan
  }
}
