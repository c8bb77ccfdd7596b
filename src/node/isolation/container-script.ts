import { startedWord, unstartedWord } from '../exit-file.ts'
import type { ContainerRoot } from './container-root.ts'
import type { NamespaceTools } from './isolated-command.ts'

/** The mounts a container in namespaces of its own has. */
export interface ContainerView {
  /** What the container sees as its root, and the file that holds the table of its mounts. */
  readonly laidOut: Pick<ContainerRoot, 'root' | 'checks'>
  readonly table: string
  readonly tools: NamespaceTools
}

export interface ContainerProgram {
  /** Nothing is mounted without one. */
  readonly view?: ContainerView | undefined
  readonly workingDir: string
  /** `cgroup.procs` files the program enters. */
  readonly cgroups: readonly string[]
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The program that sets variables a shell cannot. */
  readonly envTool: string
  /** What it reads from; nothing unless there is one. One that is also opened for writing never ends. */
  readonly stdin?: { readonly path: string; readonly ends: boolean } | undefined
  /** What it says is added to this file; without one it goes where the shell's own output goes. */
  readonly output?: string | undefined
  /** Where the exit code is to be added: whoever adopts the container is not its parent, and could not know otherwise. */
  readonly exitFile: string
  /** What the machine is called in it; it has a namespace for that where there is one. */
  readonly hostname?: string | undefined
}

/** What a container's shell is told. Each part is one compound command: of one that did not come whole, nothing runs. */
export interface ContainerScript {
  /** What can be done before it is certain that the program may run. */
  readonly setup: string
  readonly program: string
}

/** What the shell says when the program is about to run; everything it says before that is what went wrong. */
export const readyWord = 'ready'

/** Variables a shell has ideas of its own about: it refuses to set them, or sets them differently. */
const shellsOwn = /^(?:IFS|OPTIND|OPTERR|LINENO|PPID|E?UID|GROUPS|RANDOM|SECONDS|FUNCNAME|DIRSTACK|SHELLOPTS|BASH.*|_)$/
const settable = /^[A-Za-z_][A-Za-z0-9_]*$/

/** All that can be caught and ends a process; those that tell of a fault of the process itself are not sent to others. */
const caughtSignals = 'HUP INT QUIT USR1 USR2 PIPE ALRM TERM VTALRM PROF'

/**
 * What the first process of a container does. It stays to tell how the program ended, also when nobody is there to be told; in
 * namespaces, to reap what the program leaves behind, and when it ends the kernel ends everything else. Signals go to the whole
 * group. The first process of a namespace ignores those it has no handler for; elsewhere it catches them and does nothing, which,
 * unlike ignoring them, is not handed down. What shells say about a program that was ended by a signal is not the program's to say.
 */
export function containerScript(program: ContainerProgram): ContainerScript {
  const { view, workingDir, cgroups, stdin, output, exitFile, hostname } = program
  const input = stdin ? `${stdin.ends ? '<' : '<>'}${quoted(stdin.path)}` : '</dev/null'
  const said = output === undefined ? '>&1' : `>>${quoted(output)}`
  const setup = [
    // Opened first: the container's own mounts may lie above them.
    `exec 4>>${quoted(exitFile)} 5${input} 6${said}`,
    ...cgroups.map((group) => `echo 0 >${quoted(group)} || exit 125`),
    ...(hostname === undefined ? [] : [`echo ${quoted(hostname)} >/proc/sys/kernel/hostname || exit 125`]),
    ...(view ? viewLines(view) : []),
    `cd ${quoted(workingDir)} || exit 125`,
  ]
  const run = [
    'exec 7>&2 2>/dev/null',
    ...(view ? [] : [`trap : ${caughtSignals}`]),
    `(${programLines(program).join('\n')})`,
    'code=$?',
    'echo "$code" >&4',
    'exit "$code"',
  ]
  return { setup: compound(setup), program: compound(run) }
}

function compound(lines: readonly string[]): string {
  return `{\n${lines.join('\n')}\n}\n`
}

function viewLines({ laidOut, table, tools }: ContainerView): string[] {
  const enter = `cd ${quoted(laidOut.root)} && ${quoted(tools.pivotRoot)} . . && ${quoted(tools.umount)} -l .`
  return [
    `${quoted(tools.mount)} -c -a -T ${quoted(table)} </dev/null >&2 || exit 125`,
    ...(laidOut.root === '/' ? [] : [`{ ${enter}; } </dev/null >&2 || exit 125`]),
    ...laidOut.checks.map((check) => checkLine(tools, check)),
  ]
}

function checkLine(tools: NamespaceTools, { path, identity }: ContainerRoot['checks'][number]): string {
  const changed = `{ echo ${quoted(`${path} changed while it was mounted`)} >&2; exit 125; }`
  return `[ "$(${quoted(tools.stat)} -c %d:%i ${quoted(path)} </dev/null)" = ${quoted(identity)} ] || ${changed}`
}

function programLines({ words, env, envTool }: ContainerProgram): string[] {
  const variables = Object.entries(env)
  const isSettable = ([name]: readonly [string, string]) => settable.test(name) && !shellsOwn.test(name)
  const others = variables.filter((variable) => !isSettable(variable))
  const through = others.length === 0 ? [] : [envTool, ...others.map(([name, value]) => `${name}=${value}`)]
  const command = [...through, ...words].map(quoted).join(' ')
  return [
    ...variables.filter(isSettable).map(([name, value]) => `export ${name}=${quoted(value)}`),
    `echo ${startedWord} >&4`,
    // Said by the process that becomes the program: a signal that is sent from now on is not lost on its parent. Where nobody
    // listens any more nobody knows of the program, and it is taken back.
    `trap '' PIPE; echo ${readyWord} >&7 || { echo ${unstartedWord} >&4; exit 125; }; trap - PIPE`,
    `exec ${command} 0<&5 1>&6 2>&6 4>&- 5<&- 6>&- 7>&-`,
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
