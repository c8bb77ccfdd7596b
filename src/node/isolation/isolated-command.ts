/** The programs of util-linux that namespaces are made with, by their full paths. */
export interface NamespaceTools {
  readonly sh: string
  readonly unshare: string
  readonly nsenter: string
  readonly mount: string
  readonly umount: string
  readonly pivotRoot: string
  readonly stat: string
  /** Whether a user namespace is needed, because this program is not root. */
  readonly asUser: boolean
}

export interface IsolatedProgram {
  readonly root: string
  /** The file of the mounts to make, and that of what must be where afterwards. */
  readonly table: string
  readonly checks: string
  readonly workingDir: string
  /** `cgroup.procs` files the program enters. */
  readonly cgroups: readonly string[]
  readonly words: readonly string[]
}

/** What goes wrong before the program runs is said on this descriptor, and then that it is about to: `ready`. */
export const reportDescriptor = 3
/** The program's exit code is written to this one: whoever adopts it is not its parent, and could not know otherwise. */
export const exitDescriptor = 4

/**
 * The first process of the namespace. It stays to reap what the program leaves behind, and when it ends the kernel ends everything
 * else in the namespace. It needs no signal handling: signals go to the whole group, and a namespace's first process ignores
 * those it has no handler for. What shells say about a program that was ended by a signal is not the program's to say.
 */
const firstProcess = `
mount=$1 umount=$2 pivot=$3 stat=$4 root=$5 table=$6 checks=$7 work=$8 groups=$9
shift 9
exec 5<"$checks"
{
  while [ "$groups" -gt 0 ]; do echo 0 >"$1" || exit 125; shift; groups=$((groups - 1)); done
  "$mount" -c -a -T "$table" || exit 125
  if [ "$root" != / ]; then cd "$root" && "$pivot" . . && "$umount" -l . || exit 125; fi
  while read -r identity path <&5; do
    [ "$("$stat" -c %d:%i "$path")" = "$identity" ] || { echo "$path changed while it was mounted"; exit 125; }
  done
  cd "$work" || exit 125
} >&3 2>&3
echo ready >&3
exec 3>&- 5<&- 6>&2 2>/dev/null
(exec "$@" 4>&- 2>&6 6>&-)
code=$?
echo "$code" >&4
exit "$code"`

/** The command that runs a program in a mount and a PID namespace of its own. */
export function isolatedCommand(tools: NamespaceTools, program: IsolatedProgram): string[] {
  const { root, table, checks, workingDir, cgroups, words } = program
  return [
    tools.unshare,
    ...(tools.asUser ? ['--user', '--map-root-user'] : []),
    '--mount',
    '--propagation',
    'private',
    '--pid',
    '--fork',
    '--kill-child',
    tools.sh,
    '-c',
    firstProcess,
    'sh',
    tools.mount,
    tools.umount,
    tools.pivotRoot,
    tools.stat,
    root,
    table,
    checks,
    workingDir,
    String(cgroups.length),
    ...cgroups,
    ...words,
  ]
}

/** The command that runs a program inside the namespaces that the process `pid` (that of `unshare`) made. */
export function enteringCommand(
  tools: NamespaceTools,
  pid: number,
  workingDir: string,
  words: readonly string[],
): string[] {
  return [
    tools.nsenter,
    ...(tools.asUser ? [`--user=/proc/${pid}/ns/user`, '--preserve-credentials'] : []),
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
