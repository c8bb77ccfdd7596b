import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import { CutOffError } from './cut-off-error.ts'
import type { FilterTool } from './filter-tool.ts'
import { NetworkNames } from './network-names.ts'

const settingsFolder = '/proc/sys/net/ipv6/conf'

export interface MachineIpv6Facts {
  /** `undefined` if the machine has no packet filter. */
  readonly filter: FilterTool | undefined
  /**
   * Whether this cluster already has IPv6 addresses: then it keeps them, even if the machine has none at the moment.
   */
  readonly known: boolean
  /** Whether another cluster of this program has rules for IPv6: then nobody needs to try. */
  readonly isProven?: boolean | undefined
}

/** Why Pods cannot have IPv6 on this machine; `undefined` if they can. Throws where that cannot be told. */
export async function ipv6Missing({ filter, known, isProven }: MachineIpv6Facts): Promise<string | undefined> {
  if (!existsSync(settingsFolder)) return 'the kernel has none'
  if (readSetting(settingsFolder, 'default', 'disable_ipv6') !== '0') return 'it is turned off (disable_ipv6)'
  if (!known && !machineHasAddress()) return 'the machine has no address of it'
  // Without rules, nothing would enforce policies.
  if (!filter) return 'the program nft is missing'
  if (isProven) return undefined
  try {
    await filter.check(everyKindOfRule)
    return undefined
  } catch (error) {
    if (error instanceof CutOffError) throw error
    return `the packet filter takes no rules for it: ${errorMessage(error)}`
  }
}

/** Whether the machine has an IPv6 address with more than link scope that is not one of our clusters'. */
function machineHasAddress(): boolean {
  return Object.entries(networkInterfaces()).some(
    ([device, addresses]) =>
      !NetworkNames.isOurs(device) &&
      (addresses ?? []).some(({ family, internal, scopeid }) => family === 'IPv6' && !internal && scopeid === 0),
  )
}

const everyKindOfRule = `table inet sluice_try {
set one { type ipv6_addr . inet_proto . inet_service; elements = { fd00::1 . tcp . 80 }; }
chain guard { type filter hook prerouting priority raw; icmpv6 type nd-router-advert drop; fib saddr . iif oif missing drop; }
chain to { type nat hook prerouting priority dstnat; ip6 daddr . meta l4proto . th dport @one meta l4proto tcp dnat ip6 to [fd00::2]:80; }
chain from { type nat hook postrouting priority srcnat; ip6 saddr fd00::1 snat ip6 to fd00::2; ip6 saddr fd00::/64 masquerade; }
chain judge { type filter hook forward priority filter; ct state established,related accept; ip6 daddr fd00::1 reject; }
}
`

/**
 * Turns on IPv6 forwarding. A forwarding machine ignores router advertisements by default, so devices that have
 * accepted them are told to go on, or the machine would lose its own routes.
 */
export function leadOnIpv6(folder = settingsFolder): void {
  if (readSetting(folder, 'all', 'forwarding') === '1') return
  for (const device of readdirSync(folder)) {
    if (device === 'all' || device === 'lo' || NetworkNames.isOurs(device)) continue
    const listens = readSetting(folder, device, 'accept_ra') === '1'
    if (listens && readSetting(folder, device, 'forwarding') === '0') writeSetting(folder, device, 'accept_ra', '2')
  }
  writeSetting(folder, 'all', 'forwarding', '1')
}

/** Makes the machine ignore router advertisements from this device. */
export function hearNoRouter(device: string): void {
  writeSetting(settingsFolder, device, 'accept_ra', '0')
}

function readSetting(folder: string, device: string, name: string): string {
  try {
    return readFileSync(join(folder, device, name), 'utf8').trim()
  } catch {
    // The device may have gone in the meantime.
    return ''
  }
}

function writeSetting(folder: string, device: string, name: string, value: string): void {
  writeFileSync(join(folder, device, name), value)
}
