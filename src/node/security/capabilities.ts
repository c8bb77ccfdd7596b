/** All Linux capabilities, ordered by number. */
const known = [
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST',
  'NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE',
  'SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM',
  'BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE',
].flatMap((line) => line.split(' '))

/** The default capabilities of root in a container. */
const usual = [
  'CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE',
].flatMap((line) => line.split(' '))

/** Capabilities that reach beyond a container: with them, namespaces protect nothing. */
const beyondContainer = new Set(
  [
    'SYS_ADMIN SYS_MODULE SYS_RAWIO SYS_BOOT SYS_PTRACE DAC_READ_SEARCH MAC_ADMIN MAC_OVERRIDE BPF PERFMON SYSLOG SYS_TIME',
    'CHECKPOINT_RESTORE AUDIT_CONTROL SYS_PACCT WAKE_ALARM BLOCK_SUSPEND LINUX_IMMUTABLE SYS_RESOURCE AUDIT_READ',
  ].flatMap((line) => line.split(' ')),
)

export interface CapabilityChanges {
  readonly add?: readonly string[] | undefined
  readonly drop?: readonly string[] | undefined
}

export type GrantedCapabilities = { readonly granted: readonly string[] } | { readonly refused: string }

/** Capabilities by which a program in the machine's network could read and change others' traffic. */
const networkWide = new Set(['NET_ADMIN', 'NET_RAW', 'NET_BROADCAST'])

/**
 * The default capabilities with the given changes, as runtimes apply them: `ALL` means every one, and adding wins over
 * dropping.
 */
export function grantedCapabilities(
  { add = [], drop = [] }: CapabilityChanges,
  ownNetwork: boolean,
): GrantedCapabilities {
  const [added, dropped] = [add.map(plainName), drop.map(plainName)]
  const unknown = [...added, ...dropped].find((name) => name !== 'ALL' && !known.includes(name))
  if (unknown !== undefined) return { refused: `there is no capability "${unknown.slice(0, 40)}"` }
  const asked = added.includes('ALL') ? known : added
  const beyond = asked.find((name) => beyondContainer.has(name))
  if (beyond !== undefined) {
    // The profile that kubectl recommends asks for such a one.
    const instead = 'leave it out; with kubectl debug, --profile=baseline does'
    return { refused: `${beyond} would reach beyond the container: ${instead}` }
  }
  const shared = ownNetwork ? undefined : added.find((name) => networkWide.has(name))
  if (shared !== undefined) return { refused: `${shared} needs a network of the Pod's own, and Sluice to be root` }
  const left = dropped.includes('ALL') ? [] : usual.filter((name) => !dropped.includes(name))
  const names = new Set([...left, ...asked].filter((name) => ownNetwork || !networkWide.has(name)))
  return { granted: known.filter((name) => names.has(name)) }
}

/** The kernel's number of a capability. */
export function capabilityNumber(name: string): number {
  return known.indexOf(name)
}

function plainName(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, '')
}
