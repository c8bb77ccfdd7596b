import type { Pod } from '../../resources/pod.ts'
import { textOf } from './spec-text.ts'

/** What a Pod is called inside, and the domain that name is in: empty unless it has a subdomain. */
export interface PodHostname {
  readonly hostname: string
  readonly domain: string
}

/** What Linux takes as a host name, without the byte at its end. */
export const mostHostnameBytes = 64
const mostLabelBytes = 63

/** As the kubelet names a Pod: by `hostnameOverride`, `hostname` or its own name, which may be too long. */
export function hostnameOf(pod: Pod, clusterDomain: string): PodHostname {
  const { name, namespace = '' } = pod.metadata
  const override = textOf(pod.spec['hostnameOverride'])
  if (override) return { hostname: shortened(override), domain: '' }
  const subdomain = textOf(pod.spec['subdomain'])
  const hostname = shortened(textOf(pod.spec['hostname']) || name)
  return { hostname, domain: subdomain ? `${subdomain}.${namespace}.svc.${clusterDomain}` : '' }
}

/**
 * What `hostname` says in the Pod. With `setHostnameAsFQDN` it is the whole name, and a Pod whose whole name does not
 * fit cannot be started: then `undefined`.
 */
export function kernelHostnameOf(pod: Pod, clusterDomain: string): string | undefined {
  const { hostname, domain } = hostnameOf(pod, clusterDomain)
  if (pod.spec['setHostnameAsFQDN'] !== true || domain === '') return hostname
  const whole = `${hostname}.${domain}`
  return whole.length <= mostHostnameBytes ? whole : undefined
}

function shortened(hostname: string): string {
  return hostname.length <= mostLabelBytes ? hostname : hostname.slice(0, mostLabelBytes).replace(/[-.]+$/, '')
}
