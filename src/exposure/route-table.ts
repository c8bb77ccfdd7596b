import type { ObjectCache, ObjectChange } from '../cluster/informer.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import type { Secret } from '../resources/secret.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { CertificateEnds } from './certificates/certificate-ends.ts'
import { type CertificateVerdict, certificateOf, secretMissing } from './certificates/secret-certificate.ts'
import type { EndpointReach } from './endpoint-reach.ts'
import { type ExposureFacts, hostOf, type HostOwners, namespaceOf } from './host-owners.ts'
import type { ExporterVerdict, ExposureRoute, RouteRules } from './plan-host.ts'
import { objectsOf } from './plan-routes.ts'
import { PlannedRoutes } from './planned-routes.ts'
import type { RouteObjects, Touched } from './route-objects.ts'

export interface RouteTableOptions {
  readonly exporters: ObjectCache<ServiceExporter>
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly facts: ExposureFacts
  /** The Secrets with certificates that exporters name. */
  readonly secrets?: ObjectCache<Secret> | undefined
  readonly clock?: Clock | undefined
  /** Which endpoints may be connected to; without it, all of them. */
  readonly reach?: Pick<EndpointReach, 'mayReach' | 'onChange' | 'hasNewLimits'> | undefined
}

/** What was planned again; it need not be different. */
export type RouteChange =
  | 'all'
  | {
      readonly hosts: ReadonlySet<string>
      /** `namespace/name` of the exporters that claim them, or did. */
      readonly exporters: ReadonlySet<string>
    }

/**
 * The routes of one cluster. A change plans only the hosts that it touches: with thousands of exposures, planning all
 * of them takes longer than a route may be late. Several changes in one turn are planned and told together.
 */
export class RouteTable {
  readonly #options: RouteTableOptions
  readonly #rules: RouteRules
  readonly #ends: CertificateEnds
  readonly #listeners = new Set<(change: RouteChange) => void>()
  readonly #unsubscribe: ReadonlyArray<() => void>
  #facts: ExposureFacts
  #objects: RouteObjects
  #planned = new PlannedRoutes()
  /** As of the last plan that was made with all exporters known. */
  #owners: HostOwners = new Map()
  /** The hosts that have to be planned again. */
  #touched: Set<string> | 'all' = 'all'
  /** Whether the last plan knew all exporters. */
  #knewAll = false
  #untold: { readonly hosts: Set<string>; readonly exporters: Set<string> } | 'all' = 'all'
  #tellingSoon = false

  constructor(options: RouteTableOptions) {
    this.#options = options
    this.#facts = options.facts
    const { exporters, services, slices, secrets, reach, clock = systemClock } = options
    this.#rules = {
      mayReach: reach?.mayReach,
      certificateFor: (name, namespace, host) => this.#certificateFor(name, namespace, host, clock.now()),
    }
    this.#ends = new CertificateEnds(clock, (hosts) => this.#touch({ hosts, addresses: [] }))
    this.#objects = this.#allObjects()
    this.#unsubscribe = [
      exporters.onChange((change) => this.#touch(this.#objects.changeExporter(change.previous, nowOf(change)))),
      services.onChange((change) => this.#touch(this.#objects.changeService(change.previous, nowOf(change)))),
      slices.onChange((change) => this.#touch(this.#objects.changeSlice(change.previous, nowOf(change)))),
      ...(secrets ? [secrets.onChange(({ object }) => this.#touchUsersOf(object))] : []),
      ...(reach ? [reach.onChange((addresses) => this.#touch({ hosts: [], addresses }))] : []),
    ]
  }

  find(host: string): ExposureRoute | undefined {
    return this.#current().routes.get(host)
  }

  /** By host, with its domain. */
  get routes(): ReadonlyMap<string, ExposureRoute> {
    return this.#current().routes
  }

  /**
   * Sets the port that clients use, which is known only once the edge listens. By then the gateway listens, too, and
   * its endpoint may be used.
   */
  listensAt(port: number): void {
    this.#facts = { ...this.#facts, port }
    this.#touchAll()
  }

  /** Sets the domain of all hosts. When it changes, every host moves at once. */
  livesBelow(proxyDomain: string): void {
    if (proxyDomain === this.#facts.proxyDomain) return
    this.#facts = { ...this.#facts, proxyDomain }
    this.#objects = this.#allObjects()
    this.#touchAll()
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

  onChange(listener: (change: RouteChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#ends.clear()
  }

  #allObjects(): RouteObjects {
    const { exporters, services, slices } = this.#options
    return objectsOf(exporters.list(), services.list(), slices.list(), this.#facts)
  }

  #certificateFor(name: string, namespace: string, host: string, now: number): CertificateVerdict {
    const secret = this.#options.secrets?.get({ namespace, name })
    return secret ? certificateOf(secret, host, now) : secretMissing(name, namespace)
  }

  #touchUsersOf({ metadata: { name, namespace = 'default' } }: Secret): void {
    const users = this.#options.exporters
      .list()
      .filter((exporter) => exporter.spec.tlsSecretName === name && namespaceOf(exporter) === namespace)
    this.#touch({ hosts: users.map((exporter) => hostOf(exporter, this.#facts)), addresses: [] })
  }

  #touch({ hosts, addresses }: Touched): void {
    if (!this.#knewAll) this.#touched = 'all'
    if (this.#touched !== 'all') {
      for (const host of hosts) this.#touched.add(host)
      for (const host of this.#planned.leadingTo(addresses)) this.#touched.add(host)
      if (this.#touched.size === 0) return
    }
    this.#tellSoon()
  }

  #touchAll(): void {
    this.#touched = 'all'
    this.#tellSoon()
  }

  #tellSoon(): void {
    if (this.#tellingSoon) return
    this.#tellingSoon = true
    queueMicrotask(() => {
      this.#tellingSoon = false
      this.#current()
      const change = this.#untold
      this.#untold = { hosts: new Set(), exporters: new Set() }
      for (const listener of this.#listeners) listener(change)
    })
  }

  #current(): PlannedRoutes {
    if (this.#touched === 'all' || (this.#touched.size > 0 && this.#options.reach?.hasNewLimits())) this.#planAll()
    else if (this.#touched.size > 0) this.#planTouched(this.#touched)
    if (!this.#knewAll && this.#options.exporters.synced) {
      this.#knewAll = true
      this.#owners = this.#planned.owners
    }
    return this.#planned
  }

  #planAll(): void {
    // Before all exporters are seen, the one that is seen first would be taken for the first, and stay it.
    this.#knewAll = false
    this.#planned = new PlannedRoutes(this.#owners)
    this.#planned.planAll(this.#objects, this.#facts, this.#rules)
    this.#touched = new Set()
    this.#untold = 'all'
    this.#ends.clear()
    for (const host of this.#planned.routes.keys()) this.#ends.set(host, this.#planned.certificateEnd(host))
  }

  #planTouched(hosts: ReadonlySet<string>): void {
    this.#touched = new Set()
    this.#note(hosts)
    this.#planned.plan(hosts, this.#objects, this.#facts, this.#rules)
    this.#note(hosts)
    for (const host of hosts) this.#ends.set(host, this.#planned.certificateEnd(host))
  }

  /** Notes whom to tell: those that claimed the hosts before the plan, and those that do after it. */
  #note(hosts: ReadonlySet<string>): void {
    if (this.#untold === 'all') return
    for (const host of hosts) {
      this.#untold.hosts.add(host)
      for (const exporter of this.#planned.exportersOf(host)) this.#untold.exporters.add(exporter)
    }
  }
}

function nowOf<T>({ type, object }: ObjectChange<T>): T | undefined {
  return type === 'deleted' ? undefined : object
}
