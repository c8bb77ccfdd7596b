import type { ExposureFacts, HostOwner, HostOwners } from './host-owners.ts'
import { type ExporterVerdict, type ExposureRoute, type HostPlan, planHost, type RouteRules } from './plan-host.ts'
import type { RouteObjects } from './route-objects.ts'

/** The plans of all hosts. A change plans only the hosts that it touches. */
export class PlannedRoutes {
  /** By host, with its domain. */
  readonly routes = new Map<string, ExposureRoute>()
  /** By the exporter's `namespace/name`. */
  readonly verdicts = new Map<string, ExporterVerdict>()
  /** Which namespace each host belongs to, also those that lead nowhere at the moment. */
  readonly owners: Map<string, HostOwner>
  readonly #plans = new Map<string, HostPlan>()

  /** `owners`: as they were before. */
  constructor(owners: HostOwners = new Map()) {
    this.owners = new Map(owners)
  }

  /** Plans everything there is. */
  planAll(objects: RouteObjects, facts: ExposureFacts, rules: RouteRules): void {
    this.plan(new Set([...objects.hosts, ...this.owners.keys()]), objects, facts, rules)
  }

  plan(hosts: ReadonlySet<string>, objects: RouteObjects, facts: ExposureFacts, rules: RouteRules): void {
    // First all that was, then all that is: an exporter may have moved from one of the hosts to another.
    for (const host of hosts) {
      for (const exporter of this.exportersOf(host)) this.verdicts.delete(exporter)
    }
    for (const host of hosts) {
      const plan = planHost(host, objects.claimsOf(host), objects, facts, this.owners.get(host), rules)
      putOrDelete(this.#plans, host, plan.owner && plan)
      putOrDelete(this.owners, host, plan.owner)
      putOrDelete(this.routes, host, plan.route)
      for (const [exporter, verdict] of plan.verdicts) this.verdicts.set(exporter, verdict)
    }
  }

  exportersOf(host: string): Iterable<string> {
    return this.#plans.get(host)?.verdicts.keys() ?? []
  }

  /** Until when the host's own certificate is valid; `undefined` if it has none, or an expired one. */
  certificateEnd(host: string): number | undefined {
    return this.#plans.get(host)?.certificateEnd
  }

  /** All hosts with a ready endpoint at one of the addresses, whether it may be used or not. */
  leadingTo(addresses: readonly string[]): readonly string[] {
    if (addresses.length === 0) return []
    return [...this.#plans].flatMap(([host, { readyAddresses }]) =>
      addresses.some((address) => readyAddresses.has(address)) ? [host] : [],
    )
  }
}

function putOrDelete<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
