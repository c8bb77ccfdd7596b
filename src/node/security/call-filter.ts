/** System call numbers of one architecture. */
interface CallNumbers {
  /** The kernel's number of the architecture in filters. */
  readonly machine: number
  readonly clone: number
  readonly clone3: number
  readonly personality: number
  readonly socket: number
  /** Calls that reach beyond a container, or that programs do not need and that have had kernel flaws. */
  readonly denied: readonly number[]
  /** Also denied, unless the container has SYS_NICE. */
  readonly memoryPlacement: readonly number[]
}

/** Calls above this number are unknown, and answered as if the kernel did not have them. */
const newestKnown = 470

/** The new mount calls, io_uring and quotactl_fd have the same numbers on all architectures. */
const deniedEverywhere = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 443, 467]

const numbers: Readonly<Record<'x64' | 'arm64', CallNumbers>> = {
  x64: {
    machine: 0xc000003e,
    clone: 56,
    clone3: 435,
    personality: 135,
    socket: 41,
    // syslog, uselib, ustat, sysfs, vhangup, pivot_root, _sysctl, acct, settimeofday, mount, umount2, swapon, swapoff,
    // reboot, sethostname, setdomainname, iopl, ioperm, create_module, init_module, delete_module, get_kernel_syms,
    // query_module, quotactl, nfsservctl, lookup_dcookie, clock_settime, kexec_load, add_key, request_key, keyctl,
    // unshare, perf_event_open, fanotify_init, open_by_handle_at, clock_adjtime, setns, kcmp, finit_module,
    // kexec_file_load, bpf, userfaultfd
    denied: [
      103, 134, 136, 139, 153, 155, 156, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178,
      179, 180, 212, 227, 246, 248, 249, 250, 272, 298, 300, 304, 305, 308, 312, 313, 320, 321, 323,
    ],
    // mbind, set_mempolicy, get_mempolicy, migrate_pages, move_pages, set_mempolicy_home_node
    memoryPlacement: [237, 238, 239, 256, 279, 450],
  },
  arm64: {
    machine: 0xc00000b7,
    clone: 220,
    clone3: 435,
    personality: 92,
    socket: 198,
    // The same calls, as far as they exist: lookup_dcookie, umount2, mount, pivot_root, nfsservctl, vhangup,
    // quotactl, acct, unshare, kexec_load, init_module, delete_module, clock_settime, syslog, reboot, sethostname,
    // setdomainname, settimeofday, add_key, request_key, keyctl, swapon, swapoff, perf_event_open, fanotify_init,
    // open_by_handle_at, clock_adjtime, setns, kcmp, finit_module, bpf, userfaultfd, kexec_file_load
    denied: [
      18, 39, 40, 41, 42, 58, 60, 89, 97, 104, 105, 106, 112, 116, 142, 161, 162, 170, 217, 218, 219, 224, 225, 241,
      262, 265, 266, 268, 272, 273, 280, 282, 294,
    ],
    memoryPlacement: [235, 236, 237, 238, 239, 450],
  },
}

const allow = 0x7fff0000
const refuse = 0x00050000
const notPermitted = refuse | 1
const noSuchCall = refuse | 38
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
const namespaceFlags = 0x7e020000
const harmlessPersonalities = [0, 0x8, 0x20000, 0x20008, 0xffffffff]
const addressFamilyVsock = 40

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]
const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const answer = (value: number): Instruction => [0x06, 0, 0, value]
const ifEqual = (value: number, skipIf: number, skipElse: number): Instruction => [0x15, skipIf, skipElse, value]
const ifAtLeast = (value: number, skipIf: number, skipElse: number): Instruction => [0x35, skipIf, skipElse, value]
const ifAnyOf = (bits: number, skipIf: number, skipElse: number): Instruction => [0x45, skipIf, skipElse, bits]

/**
 * The seccomp filter program, like container runtimes' default: refuses calls about mounts, modules, time, namespaces
 * and the like. Calls of other architectures and calls newer than this list fail as if the kernel did not have them.
 */
export function callFilter(machine: 'x64' | 'arm64', capabilities: readonly string[]): Buffer {
  const calls = numbers[machine]
  const placement = capabilities.includes('SYS_NICE') ? [] : calls.memoryPlacement
  const denied = [...deniedEverywhere, ...calls.denied, ...placement]
  const checks: Instruction[] = [
    load(4),
    ifEqual(calls.machine, 1, 0),
    answer(noSuchCall),
    load(0),
    ifAtLeast(newestKnown + 1, 0, 1),
    answer(noSuchCall),
    // A filter cannot read clone3's flags, which are in memory; programs fall back to clone.
    ifEqual(calls.clone3, 0, 1),
    answer(noSuchCall),
    ...denied.flatMap((call): Instruction[] => [ifEqual(call, 0, 1), answer(notPermitted)]),
    ...aboutArgument(calls.clone, [ifAnyOf(namespaceFlags, 0, 1), answer(notPermitted), answer(allow)]),
    ...aboutArgument(calls.socket, [ifEqual(addressFamilyVsock, 0, 1), answer(notPermitted), answer(allow)]),
    ...aboutArgument(calls.personality, [
      ...harmlessPersonalities.flatMap((value): Instruction[] => [ifEqual(value, 0, 1), answer(allow)]),
      answer(notPermitted),
    ]),
    answer(allow),
  ]
  return Buffer.concat(checks.map(encode))
}

/** Decides one call by its first argument. */
function aboutArgument(call: number, checks: readonly Instruction[]): Instruction[] {
  return [ifEqual(call, 0, checks.length + 1), load(16), ...checks]
}

function encode([code, whenTrue, whenFalse, value]: Instruction): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(whenTrue, 2)
  bytes.writeUInt8(whenFalse, 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}
