import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { parseAddress, parseRange, placeIn } from '../../resources/address-range.ts'
import { keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { type Service, serviceKind } from '../../resources/service.ts'
import { apiServerService } from './api-server-service.ts'
import { dnsService } from '../roles/dns-role.ts'

/** Those that are given theirs by whoever listens for them. */
const own = new Set([keyOf(apiServerService), keyOf(dnsService)])

/**
 * To Services that were made when there were no addresses, or when they were in other ranges, as before Pods had
 * networks of their own.
 */
export async function giveAddresses(client: ClusterClient, ranges: readonly string[]): Promise<void> {
  const parsed = ranges.map((text) => parseRange(text)).filter((range) => range !== undefined)
  /** A family that the cluster does not have (any more) is nowhere. */
  const isElsewhere = (text: string) => {
    const range = parsed.find(({ family }) => family === parseAddress(text)?.family)
    return range !== undefined && placeIn(range, text) === undefined
  }
  for (const service of (await client.list(serviceKind)).items) {
    const { clusterIP = '', clusterIPs = [], type } = service.spec
    const isOwn = own.has(keyOf(refOf(service)))
    if (isOwn || type === 'ExternalName' || clusterIP === 'None') continue
    if (clusterIP === '') await client.patch(serviceKind, refOf(service), {})
    else if (isElsewhere(clusterIP)) await readdress(client, service, parsed.length)
    else if (isElsewhere(clusterIPs[1] ?? '')) await readdressSecond(client, service)
  }
}

/**
 * An address never changes; but a Service that leads outside of the cluster lets go of it, and gets another when it
 * comes back.
 */
async function readdress(client: ClusterClient, service: Service, families: number): Promise<void> {
  const { type, ports = [], ipFamilyPolicy } = service.spec
  const withoutNodePorts = ports.map(({ nodePort: _nodePort, ...port }) => port)
  const away = { type: 'ExternalName', externalName: 'moving.invalid', ports: withoutNodePorts }
  await client.patch(serviceKind, refOf(service), { spec: away })
  // The cluster may have had both once: who needed them gets what there is.
  const policy = families < 2 && ipFamilyPolicy === 'RequireDualStack' ? 'PreferDualStack' : ipFamilyPolicy
  const ipFamilies = service.spec.ipFamilies?.slice(0, families)
  const back = { type, externalName: null, ports, ipFamilies, ipFamilyPolicy: policy }
  await client.patch(serviceKind, refOf(service), { spec: back })
}

/** The second one is let go of by who wants one family, and comes with the other. */
async function readdressSecond(client: ClusterClient, service: Service): Promise<void> {
  const { ipFamilies, ipFamilyPolicy } = service.spec
  await client.patch(serviceKind, refOf(service), { spec: { ipFamilyPolicy: 'SingleStack' } })
  await client.patch(serviceKind, refOf(service), { spec: { ipFamilyPolicy, ipFamilies } })
}
