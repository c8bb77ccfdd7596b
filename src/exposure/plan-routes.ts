import { type EndpointSlice, serviceNameLabel } from '../resources/endpoint-slice.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import { exposedHostLabel, longestHostLabel, type ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { byAge, type ExposureFacts, hostOf, type HostOwners, namespaceOf, planOwners } from './host-owners.ts'
import { type CertificateVerdict, type HostCertificate, secretMissing } from './certificates/secret-certificate.ts'
import { upstreamKey } from './pick-upstream.ts'
import { type MayReach, readyEndpoints, type RouteEndpoint, servicePortOf } from './service-endpoints.ts'

export interface ExposureRoute {
  readonly host: string
  /** `namespace/name` of the ServiceExporter. */
  readonly exporter: string
  readonly endpoints: readonly RouteEndpoint[]
  /** Shown at this host; without one it is the installation's. */
  readonly certificate?: HostCertificate | undefined
}

export type RefusalReason = 'ServiceNotFound' | 'PortNotFound' | 'HostTaken' | 'NameTooLong'

/** Why an address that is given answers nothing but 503. */
export interface Unready {
  readonly reason: 'NoReadyEndpoint' | 'EndpointsRefused'
  readonly message: string
}

/** What a ServiceExporter is told about itself. */
export type ExporterVerdict =
  | {
      readonly exposed: true
      readonly url: string
      readonly unready?: Unready | undefined
      /** Where the exporter names one. */
      readonly certificate?: CertificateVerdict | undefined
    }
  | { readonly exposed: false; readonly reason: RefusalReason; readonly message: string }

export interface RoutePlan {
  /** By host, whole. */
  readonly routes: ReadonlyMap<string, ExposureRoute>
  /** By the exporter's `namespace/name`. */
  readonly verdicts: ReadonlyMap<string, ExporterVerdict>
  /** Whose hosts are whose, by namespace: also those that lead nowhere at the moment. */
  readonly owners: HostOwners
}

/** What else a plan asks for. */
export interface RouteRules {
  readonly mayReach?: MayReach | undefined
  /** The certificate in a Secret, by its name and namespace, for a host. */
  readonly certificateFor?: ((secret: string, namespace: string, host: string) => CertificateVerdict) | undefined
}

/**
 * Which hosts lead where, and what to tell each ServiceExporter. Of two bindings of one host in one namespace the older
 * one has it, and one that leads nowhere has no claim. Between namespaces nobody takes a host over: see `planOwners`.
 */
export function planRoutes(
  exporters: readonly ServiceExporter[],
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  facts: ExposureFacts,
  before: HostOwners = new Map(),
  { mayReach = () => true, certificateFor = secretMissing }: RouteRules = {},
): RoutePlan {
  const serviceByKey = new Map(services.map((service) => [keyOf(refOf(service)), service]))
  const slicesByService = groupByService(slices)
  const isClosed = clusterPlaces(services, slicesByService)
  const routes = new Map<string, ExposureRoute>()
  const verdicts = new Map<string, ExporterVerdict>()
  const claims = byAge(exporters.filter(({ metadata }) => metadata.deletionTimestamp === undefined))
  const owners = planOwners(claims, facts, before)
  for (const exporter of claims) {
    const key = keyOf(refOf(exporter))
    const { serviceName, servicePort } = exporter.spec
    const namespace = namespaceOf(exporter)
    const refuse = (reason: RefusalReason, message: string) => verdicts.set(key, { exposed: false, reason, message })

    const label = exposedHostLabel(serviceName, namespace, facts.clusterId)
    if (label.length > longestHostLabel) {
      refuse(
        'NameTooLong',
        `The host name ${label} has ${label.length} characters; ${longestHostLabel} are possible. Use a shorter Service or namespace name.`,
      )
      continue
    }
    const host = hostOf(exporter, facts)
    const owner = owners.get(host)
    if (owner !== undefined && owner.namespace !== namespace) {
      refuse(
        'HostTaken',
        `The host ${host} already belongs to the ServiceExporter ${owner.exporter}: its names make the same host. Use another name for the Service.`,
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
    const holder = routes.get(host)
    if (holder) {
      refuse('HostTaken', `The host ${host} already belongs to the ServiceExporter ${holder.exporter}.`)
      continue
    }
    const ready = readyEndpoints(port, slicesByService.get(serviceKey) ?? [])
    const endpoints = ready.filter((endpoint) => !isClosed(endpoint) && mayReach(namespace, endpoint))
    const { tlsSecretName } = exporter.spec
    const certificate = tlsSecretName === undefined ? undefined : certificateFor(tlsSecretName, namespace, host)
    routes.set(host, { host, exporter: key, endpoints, certificate: certificate?.certificate })
    const url = `https://${host}:${facts.port}`
    verdicts.set(key, { exposed: true, url, unready: unreadyOf(serviceName, namespace, ready, endpoints), certificate })
  }
  return { routes, verdicts, owners }
}

function unreadyOf(
  serviceName: string,
  namespace: string,
  ready: readonly RouteEndpoint[],
  endpoints: readonly RouteEndpoint[],
): Unready | undefined {
  if (endpoints.length > 0) return undefined
  const [first] = ready
  if (!first) {
    const message = `The Service ${serviceName} has no ready endpoint; requests are answered with 503.`
    return { reason: 'NoReadyEndpoint', message }
  }
  const message = `The Service ${serviceName} leads to ${first.host}:${first.port}, which is neither a Pod of the namespace ${namespace} nor outside of this machine and its clusters; requests are answered with 503.`
  return { reason: 'EndpointsRefused', message }
}

/** Where no Service leads: to the address of another, and to the cluster's API. */
function clusterPlaces(
  services: readonly Service[],
  slicesByService: ReadonlyMap<string, readonly EndpointSlice[]>,
): (endpoint: RouteEndpoint) => boolean {
  const addresses = new Set(services.flatMap(({ spec }) => [spec.clusterIP ?? '', ...(spec.clusterIPs ?? [])]))
  const api = new Set<string>()
  for (const { endpoints, ports } of slicesByService.get('default/kubernetes') ?? []) {
    for (const host of endpoints.flatMap((endpoint) => endpoint.addresses)) {
      for (const { port = 0 } of ports ?? []) api.add(upstreamKey({ host, port }))
    }
  }
  return (endpoint) => addresses.has(endpoint.host) || api.has(upstreamKey(endpoint))
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
