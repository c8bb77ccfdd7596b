import { type EndpointSlice, serviceNameLabel } from '../resources/endpoint-slice.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import { exposedHostLabel, longestHostLabel, type ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { readyEndpoints, type RouteEndpoint, servicePortOf } from './service-endpoints.ts'

/** What the exposure knows about where it is. */
export interface ExposureFacts {
  readonly clusterId: string
  readonly proxyDomain: string
  /** The port clients use; 22443 unless told otherwise. */
  readonly port: number
}

export interface ExposureRoute {
  readonly host: string
  /** `namespace/name` of the ServiceExporter. */
  readonly exporter: string
  readonly endpoints: readonly RouteEndpoint[]
}

export type RefusalReason = 'ServiceNotFound' | 'PortNotFound' | 'HostTaken' | 'NameTooLong'

/** What a ServiceExporter is told about itself. */
export type ExporterVerdict =
  | { readonly exposed: true; readonly url: string }
  | { readonly exposed: false; readonly reason: RefusalReason; readonly message: string }

export interface RoutePlan {
  /** By host, whole. */
  readonly routes: ReadonlyMap<string, ExposureRoute>
  /** By the exporter's `namespace/name`. */
  readonly verdicts: ReadonlyMap<string, ExporterVerdict>
}

/**
 * Which hosts lead where, and what to tell each ServiceExporter. Two bindings of one host: the older one has it, and one
 * that leads nowhere has no claim.
 */
export function planRoutes(
  exporters: readonly ServiceExporter[],
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  facts: ExposureFacts,
): RoutePlan {
  const serviceByKey = new Map(services.map((service) => [keyOf(refOf(service)), service]))
  const slicesByService = groupByService(slices)
  const routes = new Map<string, ExposureRoute>()
  const verdicts = new Map<string, ExporterVerdict>()
  for (const exporter of exporters.toSorted(byAge)) {
    const key = keyOf(refOf(exporter))
    if (exporter.metadata.deletionTimestamp !== undefined) continue
    const { serviceName, servicePort } = exporter.spec
    const namespace = exporter.metadata.namespace ?? 'default'
    const refuse = (reason: RefusalReason, message: string) => verdicts.set(key, { exposed: false, reason, message })

    const label = exposedHostLabel(serviceName, namespace, facts.clusterId)
    if (label.length > longestHostLabel) {
      refuse(
        'NameTooLong',
        `The host name ${label} has ${label.length} characters; ${longestHostLabel} are possible. Use a shorter Service or namespace name.`,
      )
      continue
    }
    const serviceKey = keyOf({ namespace, name: serviceName })
    const service = serviceByKey.get(serviceKey)
    if (!service) {
      refuse('ServiceNotFound', `There is no Service ${serviceName} in the namespace ${namespace}.`)
      continue
    }
    const port = servicePortOf(service, servicePort)
    if (!port) {
      const ports = (service.spec.ports ?? []).map((one) => one.port).join(', ') || 'none'
      refuse('PortNotFound', `The Service ${serviceName} has no TCP port ${servicePort}; its ports: ${ports}.`)
      continue
    }
    const host = `${label}.${facts.proxyDomain}`.toLowerCase()
    const holder = routes.get(host)
    if (holder) {
      refuse('HostTaken', `The host ${host} already belongs to the ServiceExporter ${holder.exporter}.`)
      continue
    }
    routes.set(host, { host, exporter: key, endpoints: readyEndpoints(port, slicesByService.get(serviceKey) ?? []) })
    verdicts.set(key, { exposed: true, url: `https://${host}:${facts.port}` })
  }
  return { routes, verdicts }
}

function groupByService(slices: readonly EndpointSlice[]): Map<string, EndpointSlice[]> {
  const groups = new Map<string, EndpointSlice[]>()
  for (const slice of slices) {
    const name = slice.metadata.labels?.[serviceNameLabel]
    if (name === undefined) continue
    const key = keyOf({ namespace: slice.metadata.namespace, name })
    const group = groups.get(key)
    if (group) group.push(slice)
    else groups.set(key, [slice])
  }
  return groups
}

/** Times have whole seconds: of two of one second, the one that already has its address keeps it. */
function byAge(one: ServiceExporter, other: ServiceExporter): number {
  return compare(ageKey(one), ageKey(other))
}

function ageKey(exporter: ServiceExporter): string {
  const { metadata, status } = exporter
  // Without a time it was not stored yet: the youngest.
  return `${metadata.creationTimestamp ?? '~'} ${status?.url === undefined ? 1 : 0} ${keyOf(refOf(exporter))}`
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
