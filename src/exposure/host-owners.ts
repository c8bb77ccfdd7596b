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
 * Different names can make one host: the Service `a-x-b` in `c`, and `a` in `b-x-c`. Whose it is stays so for as long
 * as that namespace has a binding of it, even while its Service is gone: nobody else gets its clients by being quick,
 * by being older, or by renaming what an older binding leads to. Without anything before, it is the one's whose status
 * says so, then the oldest's. The claims come by age.
 */
export function planOwners(claims: readonly ServiceExporter[], facts: ExposureFacts, before: HostOwners): HostOwners {
  const byHost = Map.groupBy(claims, (exporter) => hostOf(exporter, facts))
  const owners = new Map<string, HostOwner>()
  for (const [host, candidates] of byHost) {
    const known = before.get(host)?.namespace
    const owner =
      candidates.find((exporter) => namespaceOf(exporter) === known) ??
      candidates.find(({ status }) => status?.url?.startsWith(`https://${host}:`)) ??
      candidates[0]
    if (owner) owners.set(host, { namespace: namespaceOf(owner), exporter: keyOf(refOf(owner)) })
  }
  return owners
}

export function hostOf(exporter: ServiceExporter, { clusterId, proxyDomain }: ExposureFacts): string {
  const label = exposedHostLabel(exporter.spec.serviceName, namespaceOf(exporter), clusterId)
  return `${label}.${proxyDomain}`.toLowerCase()
}

export function namespaceOf({ metadata }: ServiceExporter): string {
  return metadata.namespace ?? 'default'
}

/** Times have whole seconds: of two of one second, the one that already has its address keeps it. */
export function byAge(exporters: readonly ServiceExporter[]): ServiceExporter[] {
  // What they are sorted by is made once for each: routes are planned anew with every change.
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
