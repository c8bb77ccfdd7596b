import type { Pod } from '../../resources/pod.ts'
import { textOf } from './spec-text.ts'

/** A Pod's host name and the domain it is in; the domain is empty without a subdomain. */
export interface PodHostname {
  readonly hostname: string
  readonly domain: string
}

/** The longest host name that Linux takes. */
export const mostHostnameBytes = 64
const mostLabelBytes = 63

/** The host name as the kubelet chooses it: `hostnameOverride`, `hostname` or the Pod's name, cut if too long. */
export function hostnameOf(pod: Pod, clusterDomain: string): PodHostname {
  const { name, namespace = '' } = pod.metadata
  const override = textOf(pod.spec['hostnameOverride'])
  if (override) return { hostname: shortened(override), domain: '' }
  const subdomain = textOf(pod.spec['subdomain'])
  const hostname = shortened(textOf(pod.spec['hostname']) || name)
  return { hostname, domain: subdomain ? `${subdomain}.${namespace}.svc.${clusterDomain}` : '' }
}

/**
 * What `hostname` prints in the Pod. With `setHostnameAsFQDN` that is the full name; `undefined` if it is too long, in
 * which case the Pod cannot start.
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
