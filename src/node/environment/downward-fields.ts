import type { Container, Pod } from '../../resources/pod.ts'
import { parseQuantity } from '../../resources/quantity.ts'
import { type ResourceFieldRef, allContainers, serviceAccountOf } from '../pods/pod-parts.ts'

export interface PodFacts {
  readonly podIP: string
  /** The IPv6 address, if the Pod has one. */
  readonly podIP6?: string | undefined
  readonly hostIP: string
  readonly hostIP6?: string | undefined
  /** What the node can give: the limit of a container that sets none. */
  readonly allocatable?: { readonly cpus: number; readonly memoryBytes: number } | undefined
}

/** The value of a Pod's field, as in `fieldRef`; `undefined` for a field that cannot be referred to. */
export function fieldOf(path: string, pod: Pod, { podIP, podIP6, hostIP, hostIP6 }: PodFacts): string | undefined {
  const keyed = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path)
  if (keyed) {
    const [, field, key = ''] = keyed
    return (field === 'labels' ? pod.metadata.labels : pod.metadata.annotations)?.[key] ?? ''
  }
  switch (path) {
    case 'metadata.name':
      return pod.metadata.name
    case 'metadata.namespace':
      return pod.metadata.namespace ?? ''
    case 'metadata.uid':
      return pod.metadata.uid ?? ''
    case 'metadata.labels':
      return formattedMap(pod.metadata.labels)
    case 'metadata.annotations':
      return formattedMap(pod.metadata.annotations)
    case 'spec.nodeName':
      return pod.spec.nodeName ?? ''
    case 'spec.serviceAccountName':
      return serviceAccountOf(pod)
    case 'status.podIP':
      return podIP
    case 'status.podIPs':
      return joined(podIP, podIP6)
    case 'status.hostIP':
      return hostIP
    case 'status.hostIPs':
      return joined(hostIP, hostIP6)
    default:
      return undefined
  }
}

function joined(first: string, second: string | undefined): string {
  return second === undefined ? first : `${first},${second}`
}

const resourcePattern = /^(requests|limits)\.(cpu|memory|ephemeral-storage)$/

/**
 * The value of a `resourceFieldRef` such as `limits.memory`, divided and rounded up as Kubernetes does; `undefined` for
 * an unknown resource.
 */
export function resourceFieldOf(
  ref: ResourceFieldRef,
  pod: Pod,
  container: Container | undefined,
  facts: PodFacts,
): string | undefined {
  const [, list, resource = ''] = resourcePattern.exec(ref.resource) ?? []
  const name = ref.containerName
  const subject = name === undefined ? container : allContainers(pod).find((candidate) => candidate.name === name)
  if (list === undefined || !subject) return undefined
  const { requests, limits } = subject.resources ?? {}
  const written = list === 'limits' ? limits?.[resource] : (requests?.[resource] ?? limits?.[resource])
  const value = (written === undefined ? undefined : parseQuantity(written)) ?? fallbackOf(list, resource, facts)
  const divisor = parseQuantity(ref.divisor ?? '') || 1
  // Rounded to what a double can represent: 0.7 / 0.001 must not become 700.0000000001 and round up to 701.
  return String(Math.ceil(Number((value / divisor).toPrecision(15))))
}

function fallbackOf(list: string, resource: string, { allocatable }: PodFacts): number {
  if (list === 'requests') return 0
  if (resource === 'cpu') return allocatable?.cpus ?? 0
  return resource === 'memory' ? (allocatable?.memoryBytes ?? 0) : 0
}

function formattedMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n')
}
