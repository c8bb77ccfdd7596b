import type { ObjectCache } from '../cluster/informer.ts'
import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Secret } from '../resources/secret.ts'
import type { Service } from '../resources/service.ts'
import { type CertificateVerdict, certificateOf, secretMissing } from './certificates/secret-certificate.ts'
import type { EndpointReach } from './endpoint-reach.ts'
import type { ExposureFacts, HostOwners } from './host-owners.ts'
import { type ExporterVerdict, type ExposureRoute, planRoutes, type RoutePlan } from './plan-routes.ts'

export interface RouteTableOptions {
  readonly exporters: ObjectCache<ServiceExporter>
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly facts: ExposureFacts
  /** With the certificates that exporters name. */
  readonly secrets?: ObjectCache<Secret> | undefined
  readonly now?: (() => number) | undefined
  /** Which endpoints are connected to at all; all of them unless told. */
  readonly reach?: Pick<EndpointReach, 'mayReach' | 'onChange'> | undefined
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
    const { exporters, services, slices, secrets, reach } = options
    this.#unsubscribe = [exporters, services, slices, secrets, reach].flatMap((one) =>
      one ? [one.onChange(() => this.#invalidate())] : [],
    )
  }

  find(host: string): ExposureRoute | undefined {
    return this.#current().routes.get(host)
  }

  /** By host, whole. */
  get routes(): ReadonlyMap<string, ExposureRoute> {
    return this.#current().routes
  }

  /**
   * Where hosts lead is known before it is known where the edge and the gateway listen: this is the port that clients
   * use, and what was not to be reached before may be now.
   */
  listensAt(port: number): void {
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
    const { exporters, services, slices, secrets } = this.#options
    return exporters.synced && services.synced && slices.synced && secrets?.synced !== false
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  #certificateFor(name: string, namespace: string, host: string): CertificateVerdict {
    const { secrets, now = Date.now } = this.#options
    const secret = secrets?.get({ namespace, name })
    return secret ? certificateOf(secret, host, now()) : secretMissing(name, namespace)
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
    const { exporters, services, slices, reach } = this.#options
    this.#plan ??= planRoutes(exporters.list(), services.list(), slices.list(), this.#facts, this.#owners, {
      mayReach: reach?.mayReach,
      certificateFor: (...asked) => this.#certificateFor(...asked),
    })
    // Before all are seen, whoever is seen first would seem to be the first.
    if (exporters.synced) this.#owners = this.#plan.owners
    return this.#plan
  }
}
