import { readFileSync } from 'node:fs'
import type { ContainerScript } from './container-script.ts'
import type { RootSteps } from './container-view.ts'
import { type EntryStep, entryMessage } from './entry-steps.ts'

/** What the first process in a container's namespaces has to set up before it runs the program. */
export interface ContainerEntry {
  /** The ids that this program's user and group have inside a user namespace, if there is one. */
  readonly users?: { readonly uid: number; readonly gid: number } | undefined
  /** The `cgroup.procs` files to enter. */
  readonly cgroups: readonly string[]
  readonly hostname?: string | undefined
  readonly sysctls: readonly (readonly [path: string, value: string])[]
  readonly view: RootSteps
  /** The folder of its root, if that can be made ahead in another folder, which is then renamed to this. */
  readonly root?: string | undefined
  readonly workingDir: string
  readonly env: Readonly<Record<string, string>>
  /** The steps that give up rights the program must not have. */
  readonly rights: readonly EntryStep[]
  readonly words: readonly string[]
  /** The FIFO of its standard input; without one it reads nothing. If it `ends`, its end is told by `control`. */
  readonly stdin?: { readonly path: string; readonly ends: boolean } | undefined
  /** Its output is appended to this file; without one it goes to the process's own output. */
  readonly output?: string | undefined
  /** The FIFO that tells its terminal's size and the end of its input. */
  readonly control?: string | undefined
  /** Whether it has its own terminal. */
  readonly terminal?: boolean | undefined
  /**
   * The file to note the exit code in: whoever adopts the container is not its parent, and could not know it otherwise.
   */
  readonly exitFile: string
}

/** The classic terminal size, until an attached client tells another. */
const usualSize = { columns: 80, rows: 24 }

/** The soft and hard limit of open files. */
const openFiles = { resource: 7, usual: 65_536, most: 1_048_576 }

/**
 * Makes two messages: the setup, which can be done before it is certain that the program may run, and the program
 * itself.
 */
export function containerEntry(entry: ContainerEntry): ContainerScript {
  const { users, cgroups, hostname, sysctls, view, workingDir, env, rights, words, exitFile } = entry
  const setup = (baseIsMade: boolean): EntryStep[] => [
    ...(users ? [userMap(users)] : []),
    ['open', 'exit', '>>', exitFile],
    ...(entry.terminal === true ? terminalSteps(entry) : streamSteps(entry)),
    ...cgroups.map((group): EntryStep => ['group', group]),
    ...(cgroups.length > 0 ? ([['group-namespace']] as const) : []),
    ...(hostname === undefined ? [] : ([['hostname', hostname]] as const)),
    ...sysctls.map(([path, value]): EntryStep => ['sysctl', path, value]),
    fileLimit(),
    ...(baseIsMade ? [] : view.base()),
    ...view.rest,
  ]
  const program: EntryStep[] = [
    ['directory', workingDir],
    ['variables', ...Object.entries(env).flat()],
    ...rights,
    ['program', ...words],
  ]
  return {
    setup: (baseIsMade) => entryMessage(setup(baseIsMade)),
    program: entryMessage(program),
    root: entry.root,
  }
}

/** A terminal is served by a process of the container. */
function terminalSteps({ stdin, output = '/dev/null', control }: ContainerEntry): EntryStep[] {
  return [
    ...(stdin ? ([['open', 'input', '+<', stdin.path]] as const) : []),
    ['open', 'output', '>>', output],
    ...(control === undefined ? [] : ([['open', 'control', '+<', control]] as const)),
    ['terminal', usualSize.columns, usualSize.rows],
  ]
}

function streamSteps({ stdin, output, control = '' }: ContainerEntry): EntryStep[] {
  const ends = stdin?.ends === true
  return [
    // Before opening the input, which would wait for a writer.
    output === undefined ? ['share', 'output'] : ['collect', output, control, ends ? stdin.path : ''],
    ['open', 'input', stdin && !ends ? '+<' : '<', stdin?.path ?? '/dev/null'],
  ]
}

function userMap({ uid, gid }: { readonly uid: number; readonly gid: number }): EntryStep {
  return ['user-map', uid, gid, process.getuid?.() ?? 0, process.getgid?.() ?? 0]
}

/** No more than this program itself may have. */
function fileLimit(): EntryStep {
  ownLimit ??= Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? 1024)
  const hard = Math.min(openFiles.most, ownLimit)
  return ['limit', openFiles.resource, Math.min(openFiles.usual, hard), hard]
}
let ownLimit: number | undefined
