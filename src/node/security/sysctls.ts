import { z } from 'zod'
import type { Pod } from '../../resources/pod.ts'

/** Sysctls that only affect the Pod; the kubelet's list. */
const safe = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
])

/** In its own network, a program may listen on any port. */
const usual = [['net/ipv4/ip_unprivileged_port_start', '0']] as const

const schema = z.object({
  sysctls: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
})

export type PlannedSysctls =
  | { readonly settings: readonly (readonly [path: string, value: string])[] }
  | { readonly refused: string }

/** The sysctls of a Pod, by path below `/proc/sys`. */
export function planSysctls(
  pod: Pod,
  powers: { readonly isolated: boolean; readonly ownNetwork: boolean },
): PlannedSysctls {
  const context = schema.safeParse(pod.spec['securityContext'] ?? {})
  if (!context.success) return { refused: 'securityContext.sysctls cannot be read' }
  const asked = (context.data.sysctls ?? []).map(({ name, value }) => ({ name: name.replaceAll('/', '.'), value }))
  const forbidden = asked.find(({ name }) => !safe.has(name))
  if (forbidden) return { refused: `forbidden sysctl: "${forbidden.name.slice(0, 253)}" not allowlisted` }
  const cannot = asked.find(({ name }) => !powers.isolated || (name.startsWith('net.') && !powers.ownNetwork))
  if (cannot) {
    return {
      refused: `securityContext.sysctls: ${cannot.name} needs namespaces of the Pod's own, and Sluice to be root`,
    }
  }
  const settings = asked.map(({ name, value }) => [name.replaceAll('.', '/'), value] as const)
  return { settings: [...(powers.isolated && powers.ownNetwork ? usual : []), ...settings] }
}
