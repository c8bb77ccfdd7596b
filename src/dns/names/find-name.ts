import type { ClusterIndex } from './cluster-index.ts'
import { type DomainName, lowered, nameOf } from '../messages/domain-name.ts'
import { addressBytes } from '../messages/ip-address.ts'
import { type ResourceRecord, recordTypes } from '../messages/message.ts'
import { dashedAddressKey } from './named-service.ts'
import { addressRecord, authorityRecord, pointerRecord, textRecord } from '../messages/new-record.ts'
import { type ServiceRequest, parseClusterName } from './parse-cluster-name.ts'
import { type Place, placesOf } from './service-places.ts'

/** A zone, and where its names come from. */
export interface ClusterZone {
  readonly index: ClusterIndex
  readonly zone: DomainName
  /** The Service through which this server is reached; without it, `serverAddresses` are used. */
  readonly serverService: { readonly namespace: string; readonly name: string }
  readonly serverAddresses: () => readonly string[]
}

export type Found =
  | { readonly kind: 'places'; readonly places: readonly Place[] }
  | { readonly kind: 'alias'; readonly target: DomainName }
  | FoundRecords
  /** The name exists, but has nothing of the requested type. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'missing' }

interface FoundRecords {
  readonly kind: 'records'
  readonly answers: readonly ResourceRecord[]
  readonly additionals: readonly ResourceRecord[]
}

/** As in the usual Corefile. */
export const recordTtl = 30
const versionTtl = 28_800
const schemaVersion = '1.1.0'

const missing: Found = { kind: 'missing' }
const empty: Found = { kind: 'empty' }

/** What exists under a name of the zone. */
export function findName(cluster: ClusterZone, name: DomainName, type: number): Found {
  const { index, zone } = cluster
  const request = parseClusterName(name.slice(0, name.length - zone.length).map(lowered))
  switch (request.kind) {
    case 'branch':
      return name.length === zone.length ? findApex(cluster, name, type) : empty
    case 'namespace':
      return index.hasNamespace(request.namespace) ? empty : missing
    case 'version':
      return type === recordTypes.TXT ? records([textRecord(name, schemaVersion, versionTtl)]) : empty
    case 'nameserver':
      return { kind: 'places', places: ownAddresses(cluster).map((address) => placeAt(address, name)) }
    case 'pod': {
      const key = dashedAddressKey(request.label)
      if (key === undefined || !index.hasPodAt(request.namespace, key)) return missing
      return { kind: 'places', places: [placeAt(Buffer.from(key, 'latin1'), name)] }
    }
    case 'service':
      return findService(cluster, request)
    default:
      return missing
  }
}

function findService({ index, zone }: ClusterZone, request: ServiceRequest): Found {
  const { namespace, endpoint, port, protocol } = request
  const service = index.hasNamespace(namespace) ? index.service(namespace, request.service) : undefined
  if (!service) return missing
  const { externalName } = service
  if (externalName === undefined) {
    const places = placesOf(index, service, request, zone)
    return places ? { kind: 'places', places } : missing
  }
  // An alias has no ports or endpoints, and an address is not a name.
  const target = addressBytes(externalName) ? undefined : nameOf(externalName)
  if (endpoint !== undefined || port !== '' || protocol !== '' || !target?.length) return missing
  return { kind: 'alias', target }
}

/** The zone itself: who answers for it. */
function findApex(cluster: ClusterZone, zone: DomainName, type: number): Found {
  const { index, serverService } = cluster
  if (type === recordTypes.SOA) return records([authorityRecord(zone, index.serial, recordTtl)])
  if (type !== recordTypes.NS) return empty
  const service = index.service(serverService.namespace, serverService.name)
  const server = service ? [service.name, service.namespace, 'svc', ...zone] : ['ns', 'dns', ...zone]
  const addresses = ownAddresses(cluster).map((address) => addressRecord(server, address, recordTtl))
  return records([pointerRecord(zone, recordTypes.NS, server, recordTtl)], addresses)
}

function ownAddresses({ index, serverService, serverAddresses }: ClusterZone): readonly Buffer[] {
  const service = index.service(serverService.namespace, serverService.name)
  return service?.addresses ?? serverAddresses().flatMap((address) => addressBytes(address) ?? [])
}

function placeAt(address: Buffer, target: DomainName): Place {
  return { address, port: undefined, target }
}

function records(answers: readonly ResourceRecord[], additionals: readonly ResourceRecord[] = []): FoundRecords {
  return { kind: 'records', answers, additionals }
}
