import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import type { ExposureFacts, HostOwners } from './host-owners.ts'
import type { RouteRules } from './plan-host.ts'
import { PlannedRoutes } from './planned-routes.ts'
import { RouteObjects } from './route-objects.ts'

/**
 * Plans all hosts from scratch: which hosts lead where, and what to tell each ServiceExporter. If two exporters of one
 * namespace claim a host, the older one gets it, and one that leads nowhere has no claim. Between namespaces nobody
 * takes a host over: see `ownerOf`. A RouteTable comes to the same result by planning only what changed.
 */
export function planRoutes(
  exporters: readonly ServiceExporter[],
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  facts: ExposureFacts,
  before: HostOwners = new Map(),
  rules: RouteRules = {},
): Pick<PlannedRoutes, 'routes' | 'verdicts' | 'owners'> {
  const planned = new PlannedRoutes(before)
  planned.planAll(objectsOf(exporters, services, slices, facts), facts, rules)
  return planned
}

/** The objects in the lists, as a plan looks them up. */
export function objectsOf(
  exporters: readonly ServiceExporter[],
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  facts: ExposureFacts,
): RouteObjects {
  const objects = new RouteObjects(facts)
  for (const exporter of exporters) objects.changeExporter(undefined, exporter)
  for (const service of services) objects.changeService(undefined, service)
  for (const slice of slices) objects.changeSlice(undefined, slice)
  return objects
}
