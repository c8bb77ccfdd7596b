import { readFileSync } from 'node:fs'
import type { Pod } from '../../resources/pod.ts'
import { hostsFileOf } from './hosts-file.ts'
import { hostnameOf, kernelHostnameOf } from './pod-hostname.ts'
import { resolvConfOf } from './resolv-conf.ts'

/** A Pod's host name, and the files by which it resolves names. */
export interface PodNames {
  readonly hostname: string
  /** Files to put into its containers. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly text: string }>
  /** Warnings about what the Pod asks for but does not get. */
  readonly warnings: readonly string[]
}

export interface NameFacts {
  readonly clusterDomain: string
  /** The address of the cluster's DNS server. */
  readonly nameserver: string
}

const resolvConf = '/etc/resolv.conf'
/** systemd's list of real resolvers: its own stub on loopback is not reachable from a Pod. */
const systemdResolvConf = '/run/systemd/resolve/resolv.conf'

/** The names of a Pod with its own network. */
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
