import { startedWord, unstartedWord } from '../containers/exit-file.ts'
export interface ContainerProgram {
  readonly workingDir: string
  /** The `cgroup.procs` files to enter. */
  readonly cgroups: readonly string[]
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** env(1), which sets variables that a shell cannot. */
  readonly envTool: string
  /** The FIFO of its standard input; without one it reads nothing. One that is also opened for writing never ends. */
  readonly stdin?: { readonly path: string; readonly ends: boolean } | undefined
  /** Its output is appended to this file; without one it goes to the shell's own output. */
  readonly output?: string | undefined
  /**
   * The file to note the exit code in: whoever adopts the container is not its parent, and could not know it otherwise.
   */
  readonly exitFile: string
}

/** The instructions for a container's first process. It ignores a part that does not arrive completely. */
export interface ContainerScript {
  /**
   * The setup, which can be done before it is certain that the program may run; shorter if the base of its root already
   * exists.
   */
  setup(baseIsMade: boolean): string | Buffer
  readonly program: string | Buffer
  /** The folder that a root made ahead is renamed to; `undefined` if it cannot be used. */
  readonly root?: string | undefined
}

/** Printed when the program is about to run; all output before that is an error message. */
export const readyWord = 'ready'

/** Variables that a shell refuses to set, or sets differently. */
const shellsOwn = /^(?:IFS|OPTIND|OPTERR|LINENO|PPID|E?UID|GROUPS|RANDOM|SECONDS|FUNCNAME|DIRSTACK|SHELLOPTS|BASH.*|_)$/
const settable = /^[A-Za-z_][A-Za-z0-9_]*$/

/** All signals that can be caught and end a process, except those for faults of the process itself. */
const caughtSignals = 'HUP INT QUIT USR1 USR2 PIPE ALRM TERM VTALRM PROF'

/**
 * A shell script for the first process of a container without namespaces; each part is one compound command. The shell
 * stays to note how the program ended, even if nobody is there to be told. Signals go to the whole process group; the
 * shell catches them and does nothing, which, unlike ignoring them, is not inherited. What shells print about a program
 * killed by a signal is suppressed.
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

/** The command that runs a program with all its variables, including those a shell would not pass on. */
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
    // Printed by the process that becomes the program, so that a signal sent from now on reaches it. If nobody listens
    // any more, nobody knows of the program, and it is not run.
    `trap '' PIPE; echo ${readyWord} >&7 || { echo ${unstartedWord} >&4; exit 125; }; trap - PIPE`,
    `exec ${command} 0<&5 1>&6 2>&6 4>&- 5<&- 6>&- 7>&-`,
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
