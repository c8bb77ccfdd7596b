import type { Pod } from '../../resources/pod.ts'
import { hostnameOf } from './pod-hostname.ts'
import { objectsOf, textOf, textsOf } from './spec-text.ts'

export interface HostsFacts {
  readonly clusterDomain: string
  readonly podIPs: readonly string[]
  /** The machine's hosts file, for Pods in the machine's network. */
  readonly machineHosts: string
}

const ownLines = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
]

/** `/etc/hosts` of a Pod, as the kubelet writes it. */
export function hostsFileOf(pod: Pod, { clusterDomain, podIPs, machineHosts }: HostsFacts): string {
  const aliases = aliasLines(pod)
  if (pod.spec['hostNetwork'] === true) {
    return `# Kubernetes-managed hosts file (host network).\n${machineHosts}${text(aliases)}`
  }
  const { hostname, domain } = hostnameOf(pod, clusterDomain)
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`
  const own = podIPs.map((address) => `${address}\t${names}`)
  return text(['# Kubernetes-managed hosts file.', ...ownLines, ...own, ...aliases])
}

function aliasLines(pod: Pod): readonly string[] {
  const aliases = objectsOf(pod.spec['hostAliases'])
  if (aliases.length === 0) return []
  const lines = aliases.map(({ ip, hostnames }) => `${textOf(ip)}\t${textsOf(hostnames).join('\t')}`)
  return ['', '# Entries added by HostAliases.', ...lines]
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}
