import type { ClusterClient } from '../cluster/cluster-client.ts'
import { parseRange, placeIn } from '../node/network/address-range.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import { type Service, serviceKind } from '../resources/service.ts'
import { apiServerService } from './api-server-service.ts'
import { dnsService } from './dns-role.ts'

/** Those that are given theirs by whoever listens for them. */
const own = new Set([keyOf(apiServerService), keyOf(dnsService)])

/** To Services that were made when there were no addresses, or when they were in another range, as before Pods had networks of their own. */
export async function giveAddresses(client: ClusterClient, range: string): Promise<void> {
  const parsed = parseRange(range)
  const isElsewhere = (address: string) => parsed !== undefined && placeIn(parsed, address) === undefined
  for (const service of (await client.list(serviceKind)).items) {
    const { clusterIP = '', type } = service.spec
    const isOwn = own.has(keyOf(refOf(service)))
    if (isOwn || type === 'ExternalName' || clusterIP === 'None') continue
    if (clusterIP === '') await client.patch(serviceKind, refOf(service), {})
    else if (isElsewhere(clusterIP)) await readdress(client, service)
  }
}

/** An address never changes; but a Service that leads outside of the cluster lets go of it, and gets another when it comes back. */
async function readdress(client: ClusterClient, service: Service): Promise<void> {
  const { type, ports = [] } = service.spec
  const withoutNodePorts = ports.map(({ nodePort: _nodePort, ...port }) => port)
  const away = { type: 'ExternalName', externalName: 'moving.invalid', ports: withoutNodePorts }
  await client.patch(serviceKind, refOf(service), { spec: away })
  await client.patch(serviceKind, refOf(service), { spec: { type, externalName: null, ports } })
}
