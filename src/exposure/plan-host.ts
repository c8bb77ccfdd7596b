import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import { exposedHostLabel, longestHostLabel, type ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { type CertificateVerdict, type HostCertificate, secretMissing } from './certificates/secret-certificate.ts'
import { type ExposureFacts, type HostOwner, namespaceOf, ownerOf } from './host-owners.ts'
import { type MayReach, readyEndpoints, type RouteEndpoint, servicePortOf } from './service-endpoints.ts'

export interface ExposureRoute {
  readonly host: string
  /** The cluster's ID. */
  readonly cluster: string
  /** `namespace/name` of the ServiceExporter. */
  readonly exporter: string
  readonly endpoints: readonly RouteEndpoint[]
  /** Shown at this host; without one it is the installation's. */
  readonly certificate?: HostCertificate | undefined
}

export type RefusalReason = 'ServiceNotFound' | 'PortNotFound' | 'HostTaken' | 'NameTooLong'

/** Why a host that is exposed answers nothing but 503. */
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

/** What a plan looks up about other objects. */
export interface RouteLookups {
  serviceOf(key: string): Service | undefined
  slicesOf(serviceKey: string): readonly EndpointSlice[]
  /** Whether an endpoint is the address of a Service or the cluster's API: no Service may lead there. */
  isClusterPlace(endpoint: RouteEndpoint): boolean
}

/** Which endpoints may be used, and which certificates there are. */
export interface RouteRules {
  readonly mayReach?: MayReach | undefined
  /** The certificate in a Secret, by its name and namespace, for a host. */
  readonly certificateFor?: ((secret: string, namespace: string, host: string) => CertificateVerdict) | undefined
}

export interface HostPlan {
  /** `undefined` if no exporter claims the host any more. */
  readonly owner: HostOwner | undefined
  /** `undefined` if none of the claims can be served. */
  readonly route: ExposureRoute | undefined
  /** By the exporter's `namespace/name`. */
  readonly verdicts: ReadonlyMap<string, ExporterVerdict>
  /** The addresses of all ready endpoints, also of those that may not be used. */
  readonly readyAddresses: ReadonlySet<string>
  /** Until when the host's own certificate is valid; `undefined` if it has none, or an expired one. */
  readonly certificateEnd: number | undefined
}

/**
 * Plans one host: where it leads, and what each ServiceExporter that claims it is told. All of a host's claims are
 * passed, the oldest first. Nothing else depends on other hosts, so a change is planned for the hosts it touches only.
 */
export function planHost(
  host: string,
  claims: readonly ServiceExporter[],
  lookups: RouteLookups,
  facts: ExposureFacts,
  before: HostOwner | undefined,
  rules: RouteRules,
): HostPlan {
  const owner = ownerOf(host, claims, before)
  const verdicts = new Map<string, ExporterVerdict>()
  let route: ExposureRoute | undefined
  let readyAddresses: ReadonlySet<string> = new Set()
  let certificateEnd: number | undefined
  for (const exporter of claims) {
    const key = keyOf(refOf(exporter))
    const refusal = refusalOf(exporter, host, owner, route, lookups, facts)
    if (refusal) {
      verdicts.set(key, { exposed: false, ...refusal })
      continue
    }
    const exposed = expose(exporter, host, facts.clusterId, lookups, rules)
    route = exposed.route
    readyAddresses = exposed.readyAddresses
    const { unready, certificate } = exposed
    certificateEnd = certificate?.validUntil
    verdicts.set(key, { exposed: true, url: `https://${host}:${facts.port}`, unready, certificate })
  }
  return { owner, route, verdicts, readyAddresses, certificateEnd }
}

interface Refusal {
  readonly reason: RefusalReason
  readonly message: string
}

function refusalOf(
  exporter: ServiceExporter,
  host: string,
  owner: HostOwner | undefined,
  holder: ExposureRoute | undefined,
  lookups: RouteLookups,
  { clusterId }: ExposureFacts,
): Refusal | undefined {
  const { serviceName, servicePort } = exporter.spec
  const namespace = namespaceOf(exporter)
  const label = exposedHostLabel(serviceName, namespace, clusterId)
  if (label.length > longestHostLabel) {
    const message = `The host name ${label} has ${label.length} characters; ${longestHostLabel} are possible. Use a shorter Service or namespace name.`
    return { reason: 'NameTooLong', message }
  }
  if (owner !== undefined && owner.namespace !== namespace) {
    const message = `The host ${host} already belongs to the ServiceExporter ${owner.exporter}: its names make the same host. Use another name for the Service.`
    return { reason: 'HostTaken', message }
  }
  const service = lookups.serviceOf(keyOf({ namespace, name: serviceName }))
  if (!service) {
    return {
      reason: 'ServiceNotFound',
      message: `There is no Service ${serviceName} in the namespace ${namespace}.`,
    }
  }
  if (!servicePortOf(service, servicePort)) {
    const ports = (service.spec.ports ?? []).map((one) => one.port).join(', ') || 'none'
    const message = `The Service ${serviceName} has no TCP port ${servicePort}; its ports: ${ports}.`
    return { reason: 'PortNotFound', message }
  }
  if (!holder) return undefined
  return {
    reason: 'HostTaken',
    message: `The host ${host} already belongs to the ServiceExporter ${holder.exporter}.`,
  }
}

function expose(exporter: ServiceExporter, host: string, cluster: string, lookups: RouteLookups, rules: RouteRules) {
  const { mayReach = () => true, certificateFor = secretMissing } = rules
  const { serviceName, servicePort, tlsSecretName } = exporter.spec
  const namespace = namespaceOf(exporter)
  const serviceKey = keyOf({ namespace, name: serviceName })
  const service = lookups.serviceOf(serviceKey)
  const port = service && servicePortOf(service, servicePort)
  const ready = port ? readyEndpoints(port, lookups.slicesOf(serviceKey)) : []
  const endpoints = ready.filter((one) => !lookups.isClusterPlace(one) && mayReach(namespace, one))
  const certificate = tlsSecretName === undefined ? undefined : certificateFor(tlsSecretName, namespace, host)
  const key = keyOf(refOf(exporter))
  return {
    route: { host, cluster, exporter: key, endpoints, certificate: certificate?.certificate },
    readyAddresses: new Set(ready.map((one) => one.host)),
    unready: unreadyOf(serviceName, namespace, ready, endpoints),
    certificate,
  }
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
