import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { parseAddress, parseRange, placeIn } from '../../resources/address-range.ts'
import { keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { type Service, serviceKind } from '../../resources/service.ts'
import { apiServerService } from './api-server-service.ts'
import { dnsService } from '../roles/dns-role.ts'

/** Services that get their address from whoever listens for them. */
const own = new Set([keyOf(apiServerService), keyOf(dnsService)])

/**
 * Gives new addresses to Services that have none, or one outside the current ranges, for example from before Pods had
 * their own networks.
 */
export async function giveAddresses(client: ClusterClient, ranges: readonly string[]): Promise<void> {
  const parsed = ranges.map((text) => parseRange(text)).filter((range) => range !== undefined)
  /** False for a family that the cluster does not have (any more): there is no range to move the address to. */
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
 * A Service's address cannot be changed. But if its type becomes ExternalName, it gives the address up, and gets a new
 * one when it changes back.
 */
async function readdress(client: ClusterClient, service: Service, families: number): Promise<void> {
  const { type, ports = [], ipFamilyPolicy } = service.spec
  const withoutNodePorts = ports.map(({ nodePort: _nodePort, ...port }) => port)
  const away = { type: 'ExternalName', externalName: 'moving.invalid', ports: withoutNodePorts }
  await client.patch(serviceKind, refOf(service), { spec: away })
  // If the cluster has lost a family, Services that required both get the one that is left.
  const policy = families < 2 && ipFamilyPolicy === 'RequireDualStack' ? 'PreferDualStack' : ipFamilyPolicy
  const ipFamilies = service.spec.ipFamilies?.slice(0, families)
  const back = { type, externalName: null, ports, ipFamilies, ipFamilyPolicy: policy }
  await client.patch(serviceKind, refOf(service), { spec: back })
}

/** A Service that changes to one family gives up its second address, and gets a new one when it changes back to two. */
async function readdressSecond(client: ClusterClient, service: Service): Promise<void> {
  const { ipFamilies, ipFamilyPolicy } = service.spec
  await client.patch(serviceKind, refOf(service), { spec: { ipFamilyPolicy: 'SingleStack' } })
  await client.patch(serviceKind, refOf(service), { spec: { ipFamilyPolicy, ipFamilies } })
}
