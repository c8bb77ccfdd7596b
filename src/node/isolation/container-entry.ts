import { readFileSync } from 'node:fs'
import type { ContainerScript } from './container-script.ts'
import type { RootSteps } from './container-view.ts'
import { type EntryStep, entryMessage } from './entry-steps.ts'

/** What the first process of namespaces is to make of itself. */
export interface ContainerEntry {
  /** Inside and outside of the namespace of users, where there is one. */
  readonly users?: { readonly uid: number; readonly gid: number } | undefined
  /** `cgroup.procs` files it enters. */
  readonly cgroups: readonly string[]
  readonly hostname?: string | undefined
  readonly sysctls: readonly (readonly [path: string, value: string])[]
  readonly view: RootSteps
  /**
   * The folder that becomes its root, where the base of that can be made ahead in another one, which then gets this
   * name.
   */
  readonly root?: string | undefined
  readonly workingDir: string
  readonly env: Readonly<Record<string, string>>
  /** Gives up what the program must not have. */
  readonly rights: readonly EntryStep[]
  readonly words: readonly string[]
  /** The FIFO it reads from; nothing unless there is one. One that `ends` does so when that is told by `control`. */
  readonly stdin?: { readonly path: string; readonly ends: boolean } | undefined
  /** What it says is added to this file; without one it goes where the process's own output goes. */
  readonly output?: string | undefined
  /** The FIFO by which its terminal's size and the end of its input are told. */
  readonly control?: string | undefined
  /** Whether what it reads and writes is a terminal of its own. */
  readonly terminal?: boolean | undefined
  /**
   * Where the exit code is to be added: whoever adopts the container is not its parent, and could not know otherwise.
   */
  readonly exitFile: string
}

/** What terminals have been like, until somebody who looks at one tells its size. */
const usualSize = { columns: 80, rows: 24 }

/** How many files a program may have open, and how many if it asks. */
const openFiles = { resource: 7, usual: 65_536, most: 1_048_576 }

/** In two messages: what can be done before it is certain that the program may run, and the program. */
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

/** Its own program waits for the terminal and what comes from it. */
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
    // Before the input is opened, which would wait for somebody who writes to it.
    output === undefined ? ['share', 'output'] : ['collect', output, control, ends ? stdin.path : ''],
    ['open', 'input', stdin && !ends ? '+<' : '<', stdin?.path ?? '/dev/null'],
  ]
}

function userMap({ uid, gid }: { readonly uid: number; readonly gid: number }): EntryStep {
  return ['user-map', uid, gid, process.getuid?.() ?? 0, process.getgid?.() ?? 0]
}

/** Not more than this program itself may have. */
function fileLimit(): EntryStep {
  ownLimit ??= Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? 1024)
  const hard = Math.min(openFiles.most, ownLimit)
  return ['limit', openFiles.resource, Math.min(openFiles.usual, hard), hard]
}
let ownLimit: number | undefined
