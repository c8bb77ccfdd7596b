import { fileURLToPath } from 'node:url'

/** What namespaces are made with here, and what was found to work. */
export interface NamespaceTools {
  /** The interpreter of `container-entry.pl`, by its full path. */
  readonly perl: string
  readonly machine: 'x64' | 'arm64'
  /** Whether a user namespace is needed, because this program is not root. */
  readonly asUser: boolean
  /** Whether folders can be layered: needed for images, and for mounts in folders of the machine. */
  readonly layers: boolean
}

/** What a container's shell is, and what sets variables, where there are no namespaces. */
export const plainTools = { sh: '/bin/sh', env: '/usr/bin/env' } as const

const entryProgram = fileURLToPath(new URL('container-entry.pl', import.meta.url))

/** The command of a shell without namespaces of its own that reads what to do from its input. */
export function plainShellCommand(owner: string): readonly [string, ...string[]] {
  return [plainTools.sh, '-s', owner]
}

/**
 * The command of a process that is the first of namespaces of its own, and reads what to do from its input. `owner` is
 * for whoever looks at the machine's processes, `network` the file of a network namespace to be in, `target` the
 * process of a container whose processes it is to be among.
 */
export function namespaceCommand(
  { perl, machine, asUser }: NamespaceTools,
  owner: string,
  network = '',
  target?: number,
): readonly [string, ...string[]] {
  const users = asUser ? 'own-users' : ''
  return [
    perl,
    '-w',
    entryProgram,
    'contain',
    machine,
    owner,
    network,
    users,
    target === undefined ? '' : String(target),
  ]
}

/** The command of a process that is told, on its descriptor 3, in which container to run what. */
export function enteringCommand(tools: NamespaceTools, owner: string): readonly [string, ...string[]] {
  return [tools.perl, '-w', entryProgram, 'enter', tools.machine, owner]
}

/**
 * The namespaces of a container, in the order they are entered in. Its users' have no rights over its network, which
 * belongs to whoever runs this program.
 */
export function enteredNamespaces(tools: NamespaceTools, network: string): readonly string[] {
  return [
    ...(network === '' ? [] : ['net']),
    ...(tools.asUser ? ['user'] : []),
    'ipc',
    'uts',
    'mnt',
    'pid_for_children',
  ]
}

/** A program without namespaces: only the cgroups are entered first. */
export function plainCommand(sh: string, cgroups: readonly string[], words: readonly string[]): readonly string[] {
  if (cgroups.length === 0) return words
  const enter = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 >"$1" || exit 125; shift; n=$((n - 1)); done; exec "$@"'
  return [sh, '-c', enter, 'sh', String(cgroups.length), ...cgroups, ...words]
}
