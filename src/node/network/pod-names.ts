import { readFileSync } from 'node:fs'
import type { Pod } from '../../resources/pod.ts'
import { hostsFileOf } from './hosts-file.ts'
import { hostnameOf, kernelHostnameOf } from './pod-hostname.ts'
import { resolvConfOf } from './resolv-conf.ts'

/** By which names a Pod knows itself and finds others. */
export interface PodNames {
  readonly hostname: string
  /** What stands in files of its containers. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly text: string }>
  /** What could not be had as the Pod asks for it. */
  readonly warnings: readonly string[]
}

export interface NameFacts {
  readonly clusterDomain: string
  /** The address of the cluster's DNS server. */
  readonly nameserver: string
}

const resolvConf = '/etc/resolv.conf'
/** Where systemd keeps the resolvers themselves: its own, on loopback, is none that a Pod could reach. */
const systemdResolvConf = '/run/systemd/resolve/resolv.conf'

/** The names of a Pod that has a network of its own. */
export function podNames(pod: Pod, podIPs: readonly string[], { clusterDomain, nameserver }: NameFacts): PodNames {
  const { hostname: short } = hostnameOf(pod, clusterDomain)
  const hostname = kernelHostnameOf(pod, clusterDomain) ?? short
  const hosts = hostsFileOf(pod, { clusterDomain, podIPs, machineHosts: '' })
  const machineResolvConf = textOf(systemdResolvConf) || textOf(resolvConf)
  const resolving = resolvConfOf(pod, { clusterDomain, nameservers: [nameserver], machineResolvConf })
  const files = [
    { path: '/etc/hosts', text: hosts },
    { path: resolvConf, text: resolving.text },
    { path: '/etc/hostname', text: `${hostname}\n` },
  ]
  return { hostname, files, warnings: resolving.warnings }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
