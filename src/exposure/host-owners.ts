import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import { exposedHostLabel, type ServiceExporter } from '../resources/service-exporter.ts'

/** What the exposure knows about where it is. */
export interface ExposureFacts {
  readonly clusterId: string
  readonly proxyDomain: string
  /** The port clients use; 22443 unless told otherwise. */
  readonly port: number
}

/** The namespace that a host belongs to, and the binding by which it does. */
export interface HostOwner {
  readonly namespace: string
  /** `namespace/name` of the ServiceExporter. */
  readonly exporter: string
}

/** By host, whole. */
export type HostOwners = ReadonlyMap<string, HostOwner>

/**
 * Finds the namespace that a host belongs to. Different names can make one host: the Service `a-x-b` in `c`, and `a` in
 * `b-x-c`. A host stays with its namespace for as long as that has an exporter for it, even while the Service is gone.
 * So nobody gets another's clients by being quick, by being older, or by renaming what an older exporter leads to. If
 * the host had no owner before, it is the exporter whose status already has it, or else the oldest one. The claims are
 * those on this host, the oldest first.
 */
export function ownerOf(
  host: string,
  claims: readonly ServiceExporter[],
  before: HostOwner | undefined,
): HostOwner | undefined {
  const owner =
    claims.find((exporter) => namespaceOf(exporter) === before?.namespace) ??
    claims.find(({ status }) => status?.url?.startsWith(`https://${host}:`)) ??
    claims[0]
  return owner && { namespace: namespaceOf(owner), exporter: keyOf(refOf(owner)) }
}

export function hostOf(exporter: ServiceExporter, facts: ExposureFacts): string {
  return hostFor(exporter.spec.serviceName, namespaceOf(exporter), facts)
}

/** The host of a Service, whether it is exposed or not. */
export function hostFor(serviceName: string, namespace: string, { clusterId, proxyDomain }: ExposureFacts): string {
  return `${exposedHostLabel(serviceName, namespace, clusterId)}.${proxyDomain}`.toLowerCase()
}

export function namespaceOf({ metadata }: ServiceExporter): string {
  return metadata.namespace ?? 'default'
}

/** Times have whole seconds: of two of one second, the one that already has its address keeps it. */
export function byAge(exporters: readonly ServiceExporter[]): ServiceExporter[] {
  if (exporters.length < 2) return [...exporters]
  const keyed = exporters.map((exporter) => ({ exporter, key: ageKey(exporter) }))
  return keyed.sort((one, other) => compare(one.key, other.key)).map(({ exporter }) => exporter)
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
