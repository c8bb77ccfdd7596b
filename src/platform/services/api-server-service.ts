import { isIPv4 } from 'node:net'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { endpointSliceKind, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { endpointsKind, skipMirrorLabel } from '../../resources/endpoints.ts'
import { serviceKind } from '../../resources/service.ts'

export const apiServerService = { namespace: 'default', name: 'kubernetes' }

export interface ApiServerPlace {
  readonly clusterIP: string
  /** The port at the cluster IP. */
  readonly port: number
  /** Where the API server really listens. */
  readonly target: { readonly host: string; readonly port: number }
}

/** Writes the Service `kubernetes`, which every cluster has, with the API server's current address. */
export async function recordApiServerService(client: ClusterClient, place: ApiServerPlace): Promise<void> {
  const ports = [{ name: 'https', protocol: 'TCP', port: place.port, targetPort: place.target.port }]
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const there = await client.get(serviceKind, apiServerService)
  // A Service's address cannot be changed, so one from another range, or without an address, is made again.
  if (there && there.spec.clusterIP !== place.clusterIP) await client.delete(serviceKind, apiServerService)
  if (there?.spec.clusterIP === place.clusterIP) await client.patch(serviceKind, apiServerService, { spec: { ports } })
  else {
    const spec = { type: 'ClusterIP', clusterIP: place.clusterIP, sessionAffinity: 'None', ports }
    await client.create(serviceKind, { metadata: { ...apiServerService, labels }, spec })
  }
  // Slices can hold only addresses, but the listener may have a host name.
  if (!isIPv4(place.target.host)) return
  const slice = {
    metadata: { ...apiServerService, labels: { [serviceNameLabel]: apiServerService.name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [place.target.host], conditions: { ready: true } }],
    ports: [{ name: 'https', port: place.target.port, protocol: 'TCP' }],
  }
  if (await client.get(endpointSliceKind, apiServerService)) {
    await client.patch(endpointSliceKind, apiServerService, { endpoints: slice.endpoints, ports: slice.ports })
  } else await client.create(endpointSliceKind, slice)
  await recordEndpoints(client, place)
}

/** The same as Endpoints, which older clients read. */
async function recordEndpoints(client: ClusterClient, { target }: ApiServerPlace): Promise<void> {
  const ports = [{ name: 'https', port: target.port, protocol: 'TCP' }]
  const subsets = [{ addresses: [{ ip: target.host }], ports }]
  if (await client.get(endpointsKind, apiServerService)) {
    await client.patch(endpointsKind, apiServerService, { subsets })
  } else {
    const metadata = { ...apiServerService, labels: { [skipMirrorLabel]: 'true' } }
    await client.create(endpointsKind, { metadata, subsets })
  }
}
