/** The programs that namespaces are made with, by their full paths. */
export interface NamespaceTools {
  readonly sh: string
  readonly unshare: string
  readonly nsenter: string
  readonly mount: string
  readonly umount: string
  readonly pivotRoot: string
  readonly stat: string
  readonly env: string
  /** Whether a user namespace is needed, because this program is not root. */
  readonly asUser: boolean
}

/** What a container's shell is, and what sets variables, where there are no namespaces. */
export const plainTools = { sh: '/bin/sh', env: '/usr/bin/env' } as const

/** The command of a shell without namespaces of its own that reads what to do from its input. */
export function plainShellCommand(owner: string): readonly [string, ...string[]] {
  return [plainTools.sh, '-s', owner]
}

/**
 * The command of a shell that is the first process of a mount and a PID namespace of its own, and reads what to do from its input.
 * `owner` is for whoever looks at the machine's processes, `network` the file of a network namespace to be in.
 */
export function namespaceCommand(tools: NamespaceTools, owner: string, network = ''): readonly [string, ...string[]] {
  const user = tools.asUser ? ['--user', '--map-root-user'] : []
  const made = ['--mount', '--propagation', 'private', '--uts', '--pid', '--fork', '--kill-child']
  const unshare = [tools.unshare, ...user, ...made, tools.sh, '-s', owner] as const
  return network === '' ? unshare : [tools.nsenter, `--net=${network}`, ...unshare]
}

/** The command that runs a program inside the namespaces that the process `pid` (that of `unshare`) made or is in. */
export function enteringCommand(
  tools: NamespaceTools,
  { pid, network }: { readonly pid: number; readonly network: string },
  workingDir: string,
  words: readonly string[],
): string[] {
  return [
    tools.nsenter,
    ...(tools.asUser ? [`--user=/proc/${pid}/ns/user`, '--preserve-credentials'] : []),
    ...(network === '' ? [] : [`--net=/proc/${pid}/ns/net`]),
    `--uts=/proc/${pid}/ns/uts`,
    `--mount=/proc/${pid}/ns/mnt`,
    `--pid=/proc/${pid}/ns/pid_for_children`,
    tools.sh,
    '-c',
    'cd "$1" || exit 126; shift; exec "$@"',
    'sh',
    workingDir,
    ...words,
  ]
}

/** The same without namespaces: only the cgroups are entered first. */
export function plainCommand(sh: string, cgroups: readonly string[], words: readonly string[]): readonly string[] {
  if (cgroups.length === 0) return words
  const enter = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 >"$1" || exit 125; shift; n=$((n - 1)); done; exec "$@"'
  return [sh, '-c', enter, 'sh', String(cgroups.length), ...cgroups, ...words]
}
