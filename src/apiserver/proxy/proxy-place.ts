import { isIP } from 'node:net'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ProxyName } from './proxy-name.ts'

/** Where a request is sent: always a Pod, whatever else somebody writes into an EndpointSlice. */
export interface ProxyPlace {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
}

const usualPorts = { http: 80, https: 443 }

/** Without a port, the first that a container declares. */
export function placeInPod(pod: Pod, { scheme, port }: ProxyName): ProxyPlace {
  const host = pod.status?.podIP ?? ''
  if (isIP(host) === 0) throw new StatusError('BadRequest', 'address not allowed')
  const declared = pod.spec.containers.find(({ ports = [] }) => ports.length > 0)?.ports?.[0]?.containerPort
  return { scheme, host, port: port === '' ? (declared ?? usualPorts[scheme]) : portNumber(port) }
}

/** Finds the Pod behind an endpoint; `undefined` when it is gone. */
export type FindPod = (name: string) => Pod | undefined

/** One of the ready Pods behind a port of a Service. `pick` chooses one of so many. */
export function placeBehindService(
  service: Service,
  slices: readonly EndpointSlice[],
  wanted: ProxyName,
  findPod: FindPod,
  pick: (count: number) => number,
): ProxyPlace {
  const portName = servicePortName(service, wanted.port)
  const places = slices.flatMap(({ ports = [], endpoints }) => {
    const port = ports.find(({ name, protocol }) => (name ?? '') === portName && protocol === 'TCP')?.port
    if (port === undefined) return []
    return endpoints.flatMap(({ addresses, conditions, targetRef }) => {
      const [host = ''] = addresses
      if (conditions?.ready === false || targetRef?.kind !== 'Pod' || targetRef.name === undefined) return []
      // What the slice says about the Pod must be true: not only the cluster writes slices.
      const isOfPod = isIP(host) !== 0 && isAddressOf(findPod(targetRef.name), host)
      return isOfPod ? [{ scheme: wanted.scheme, host, port }] : []
    })
  })
  const place = places[pick(places.length)]
  if (place) return place
  throw new StatusError('ServiceUnavailable', `no endpoints available for service "${service.metadata.name}"`)
}

function isAddressOf(pod: Pod | undefined, host: string): boolean {
  const { podIP, podIPs = [] } = pod?.status ?? {}
  return podIP === host || podIPs.some(({ ip }) => ip === host)
}

/** Slices use the Service's name for a port. */
function servicePortName({ metadata, spec }: Service, port: string): string {
  const { ports = [] } = spec
  if (!/^\d+$/.test(port)) return port
  const found = ports.find((one) => one.port === Number(port))
  if (found) return found.name ?? ''
  throw new StatusError('ServiceUnavailable', `no service port ${port} found for service "${metadata.name}"`)
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  throw new StatusError('BadRequest', `${JSON.stringify(text.slice(0, 63))} is not a port of a Pod`)
}
