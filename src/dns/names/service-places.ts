import type { ClusterIndex } from './cluster-index.ts'
import type { DomainName } from '../messages/domain-name.ts'
import type { NamedPort, NamedService } from './named-service.ts'
import type { ServiceRequest } from './parse-cluster-name.ts'

/** Where something that was asked for can be reached. */
export interface Place {
  readonly address: Buffer
  readonly port: number | undefined
  /** The name of the address, for SRV records. */
  readonly target: DomainName
}

/**
 * Where a Service can be reached: at its cluster IPs, at its endpoints if it is headless, or at one endpoint; once for
 * each requested port. `undefined` if the name does not exist.
 */
export function placesOf(
  index: ClusterIndex,
  service: NamedService,
  request: ServiceRequest,
  zone: DomainName,
): readonly Place[] | undefined {
  const { namespace, name, headless, addresses } = service
  const own = [name, namespace, 'svc', ...zone]
  if (headless || request.endpoint !== undefined) {
    const places = index
      .endpointsOf(service, request.endpoint)
      .flatMap(({ label, address, ports }) =>
        wanted(ports, request).map(({ port }) => ({ address, port, target: [label, ...own] })),
      )
    return places.length > 0 ? places : undefined
  }
  const ports = wanted(service.ports, request)
  if (ports.length === 0) return undefined
  return ports.flatMap(({ port }) => addresses.map((address) => ({ address, port, target: own })))
}

function wanted(ports: readonly NamedPort[], request: ServiceRequest): readonly NamedPort[] {
  if (request.port === '' && request.protocol === '') return ports
  return ports.filter(
    ({ name, protocol }) =>
      (request.port === '' || request.port === name.toLowerCase()) &&
      (request.protocol === '' || request.protocol === protocol.toLowerCase()),
  )
}
