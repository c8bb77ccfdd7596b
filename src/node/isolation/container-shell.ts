import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { errorMessage } from '../../foundation/errors.ts'
import type { Clock } from '../../foundation/clock.ts'
import { type ContainerScript, readyWord } from './container-script.ts'
import { baseWord } from './container-view.ts'

/** How long setting up a container may take. */
const setupDeadlineMs = 30_000
const longestReport = 2000

/** The base of a root, made before its container is known. */
export interface RootBaseAhead {
  /** Becomes the root, or is removed if no container needs it. */
  readonly folder: string
  readonly message: Buffer
  /** The cgroups that the process is in then. */
  readonly groups: readonly string[]
  /** Called when it was not used and its process is gone. */
  letGo(): void
}

/**
 * The first process of a container, in its own namespaces if its command makes them. It waits for instructions, and
 * ends by itself if whoever started it is gone before.
 */
export class ContainerShell {
  readonly child: ChildProcess
  readonly #base: RootBaseAhead | undefined
  #isUsed = false
  #failure = ''
  /** Output that was not looked at yet; complete once it is silent. */
  #said = ''
  #isSilent = false

  constructor(
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>> = {},
    {
      output = 'ignore',
      base,
    }: { readonly output?: 'ignore' | 'pipe'; readonly base?: RootBaseAhead | undefined } = {},
  ) {
    this.#base = base
    const [program, ...args] = command
    const stdio: StdioOptions = ['pipe', output, 'pipe']
    // In its own session and process group: it does not get our Ctrl-C, and all of it can be signalled at once.
    this.child = spawn(program, args, { cwd: '/', env, stdio, detached: true })
    this.child.once('error', (error) => (this.#failure = error.message))
    // A failed write shows in the end of the other stream.
    this.child.stdin?.on('error', () => {})
    this.child.stderr
      ?.setEncoding('utf8')
      .on('data', (chunk: string) => (this.#said = (this.#said + chunk).slice(-longestReport)))
      .on('error', (error) => (this.#said += error.message))
      .once('close', () => (this.#isSilent = true))
    if (base) this.child.stdin?.write(base.message)
  }

  /** Whether it still waits for instructions. */
  get isWaiting(): boolean {
    const { pid, exitCode, signalCode } = this.child
    return !this.#isUsed && pid !== undefined && exitCode === null && signalCode === null
  }

  /**
   * Resolves when the program is about to run, with an empty string, or with the error that prevented it. The setup
   * begins at once; the program runs when `permitted` resolves, and not at all if it rejects.
   */
  async run(script: ContainerScript, clock: Clock, permitted?: Promise<unknown>): Promise<string> {
    const { stdin, stderr } = this.child
    const { program } = script
    this.#isUsed = true
    const cancel = clock.after(setupDeadlineMs, () => stderr?.destroy(new Error('it took too long')))
    try {
      if (this.#base && !(await this.#hears(baseWord))) return this.#problem()
      stdin?.write(script.setup(this.#useBase(script.root)))
      if (!permitted) stdin?.end(program)
      else {
        permitted.then(
          () => stdin?.end(program),
          () => stdin?.end(),
        )
      }
      return (await this.#hears(readyWord)) ? '' : this.#problem()
    } catch (error) {
      return errorMessage(error)
    } finally {
      cancel()
      // It would stay open as long as a process of the container lives.
      stderr?.destroy()
    }
  }

  /** Whether it prints this word before its output ends. */
  #hears(word: string): Promise<boolean> {
    const { stderr } = this.child
    const line = `${word}\n`
    return new Promise((resolve) => {
      const look = () => {
        if (!this.#said.endsWith(line)) return this.#isSilent && settle(false)
        this.#said = this.#said.slice(0, -line.length)
        settle(true)
      }
      const settle = (heard: boolean) => {
        stderr?.off('data', look).off('close', look)
        resolve(heard)
      }
      stderr?.on('data', look).on('close', look)
      look()
    })
  }

  #problem(): string {
    return this.#said.trim().replaceAll('\n', '; ') || this.#failure || 'they ended at once'
  }

  /** Lets this program exit while the shell waits; the shell then ends, too. */
  unref(): void {
    this.#hold('unref')
  }

  ref(): void {
    this.#hold('ref')
  }

  /** Ends it without running anything in it. */
  discard(): void {
    this.#isUsed = true
    this.child.stdin?.end()
    const { pid, exitCode, signalCode } = this.child
    const over = () => {
      this.#dropBase()
      this.#base?.letGo()
    }
    if (pid === undefined || exitCode !== null || signalCode !== null) over()
    else this.child.once('exit', over)
  }

  /** The cgroups it is already in. */
  get groups(): readonly string[] {
    return this.#base?.groups ?? []
  }

  /** Renaming the folder outside does not affect what is mounted inside the namespaces. */
  #useBase(root: string | undefined): boolean {
    if (!this.#base) return false
    if (root === undefined) this.#dropBase()
    else renameSync(this.#base.folder, root)
    return root !== undefined
  }

  #dropBase(): void {
    // If this fails, it is removed at the next start.
    if (this.#base) rm(this.#base.folder, { recursive: true, force: true }).catch(() => {})
  }

  #hold(how: 'ref' | 'unref'): void {
    this.child[how]()
    for (const stream of [this.child.stdin, this.child.stderr]) {
      if (stream instanceof Socket) stream[how]()
    }
  }
}
