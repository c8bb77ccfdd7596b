import { startedWord, unstartedWord } from '../containers/exit-file.ts'
export interface ContainerProgram {
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
  /**
   * Where the exit code is to be added: whoever adopts the container is not its parent, and could not know otherwise.
   */
  readonly exitFile: string
}

/** What a container's first process is told. Of a part that did not come whole, nothing is done. */
export interface ContainerScript {
  /**
   * What can be done before it is certain that the program may run; less where the base of its root is made already.
   */
  setup(baseIsMade: boolean): string | Buffer
  readonly program: string | Buffer
  /** The folder that a base made ahead must be called by then; without one there is no use for it. */
  readonly root?: string | undefined
}

/** What the shell says when the program is about to run; everything it says before that is what went wrong. */
export const readyWord = 'ready'

/** Variables a shell has ideas of its own about: it refuses to set them, or sets them differently. */
const shellsOwn = /^(?:IFS|OPTIND|OPTERR|LINENO|PPID|E?UID|GROUPS|RANDOM|SECONDS|FUNCNAME|DIRSTACK|SHELLOPTS|BASH.*|_)$/
const settable = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * All that can be caught and ends a process; those that tell of a fault of the process itself are not sent to others.
 */
const caughtSignals = 'HUP INT QUIT USR1 USR2 PIPE ALRM TERM VTALRM PROF'

/**
 * What the first process of a container without namespaces does, as a shell reads it: each part is one compound
 * command. It stays to tell how the program ended, also when nobody is there to be told. Signals go to the whole group;
 * it catches them and does nothing, which, unlike ignoring them, is not handed down. What shells say about a program
 * that was ended by a signal is not the program's to say.
 */
export function containerScript(program: ContainerProgram): ContainerScript {
  const { workingDir, cgroups, stdin, output, exitFile } = program
  const input = stdin ? `${stdin.ends ? '<' : '<>'}${quoted(stdin.path)}` : '</dev/null'
  const said = output === undefined ? '>&1' : `>>${quoted(output)}`
  const setup = [
    `exec 4>>${quoted(exitFile)} 5${input} 6${said}`,
    ...cgroups.map((group) => `echo 0 >${quoted(group)} || exit 125`),
    `cd ${quoted(workingDir)} || exit 125`,
  ]
  const run = [
    'exec 7>&2 2>/dev/null',
    `trap : ${caughtSignals}`,
    `(${programLines(program).join('\n')})`,
    'code=$?',
    'echo "$code" >&4',
    'exit "$code"',
  ]
  return { setup: () => compound(setup), program: compound(run) }
}

function compound(lines: readonly string[]): string {
  return `{\n${lines.join('\n')}\n}\n`
}

/** The words that run a program with all its variables, also those that a shell would not hand on. */
export function throughShell(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  envTool: string,
): readonly string[] {
  const others = Object.entries(env).filter((variable) => !isSettable(variable))
  return others.length === 0 ? words : [envTool, ...others.map(([name, value]) => `${name}=${value}`), ...words]
}

function isSettable([name]: readonly [string, string]): boolean {
  return settable.test(name) && !shellsOwn.test(name)
}

function programLines({ words, env, envTool }: ContainerProgram): string[] {
  const command = throughShell(words, env, envTool).map(quoted).join(' ')
  return [
    ...Object.entries(env)
      .filter(isSettable)
      .map(([name, value]) => `export ${name}=${quoted(value)}`),
    `echo ${startedWord} >&4`,
    // Said by the process that becomes the program: a signal that is sent from now on is not lost on its parent. Where
    // nobody listens any more nobody knows of the program, and it is taken back.
    `trap '' PIPE; echo ${readyWord} >&7 || { echo ${unstartedWord} >&4; exit 125; }; trap - PIPE`,
    `exec ${command} 0<&5 1>&6 2>&6 4>&- 5<&- 6>&- 7>&-`,
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
