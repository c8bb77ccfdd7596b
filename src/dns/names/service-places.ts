import type { ClusterIndex } from './cluster-index.ts'
import type { DomainName } from '../messages/domain-name.ts'
import type { NamedPort, NamedService } from './named-service.ts'
import type { ServiceRequest } from './parse-cluster-name.ts'

/** Where something that was asked for can be reached. */
export interface Place {
  readonly address: Buffer
  readonly port: number | undefined
  /** The name of the address, for who asks for the port too. */
  readonly target: DomainName
}

/**
 * The places of a Service that is reached through its cluster IP, of one without (its endpoints), or of one endpoint;
 * each as often as it has ports that were asked for. `undefined` where the name does not exist.
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
