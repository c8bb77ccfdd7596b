import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { errorMessage } from '../../foundation/errors.ts'
import type { Clock } from '../../foundation/clock.ts'
import { type ContainerScript, readyWord } from './container-script.ts'
import { baseWord } from './container-view.ts'

/** How long making a container's namespaces may take. */
const setupDeadlineMs = 30_000
const longestReport = 2000

/** The base of a container's root, made before there is the container. */
export interface RootBaseAhead {
  /** Becomes the root; gone when no container needs it. */
  readonly folder: string
  readonly message: Buffer
  /** Folders of the groups that the process is in then. */
  readonly groups: readonly string[]
  /** No container came of it, and its process is gone. */
  letGo(): void
}

/**
 * The first process of one container, in namespaces that are made for it where its command says so. It does nothing
 * until it is told what, and ends by itself when whoever started it is gone before that.
 */
export class ContainerShell {
  readonly child: ChildProcess
  readonly #base: RootBaseAhead | undefined
  #isUsed = false
  #failure = ''
  /** What it has said and nobody has heard yet; nothing more comes once it is silent. */
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
    // A session and process group of its own: it does not get our Ctrl-C, and all of it can be signalled at once.
    this.child = spawn(program, args, { cwd: '/', env, stdio, detached: true })
    this.child.once('error', (error) => (this.#failure = error.message))
    // What cannot be written is seen by the end of the other side.
    this.child.stdin?.on('error', () => {})
    this.child.stderr
      ?.setEncoding('utf8')
      .on('data', (chunk: string) => (this.#said = (this.#said + chunk).slice(-longestReport)))
      .on('error', (error) => (this.#said += error.message))
      .once('close', () => (this.#isSilent = true))
    if (base) this.child.stdin?.write(base.message)
  }

  /** Whether it can still be told what to do. */
  get isWaiting(): boolean {
    const { pid, exitCode, signalCode } = this.child
    return !this.#isUsed && pid !== undefined && exitCode === null && signalCode === null
  }

  /**
   * Resolves when the program of the script is about to run, with nothing to say, or with what kept it from that. The
   * program runs when `permitted` resolves, and not at all when it rejects; everything before that is done meanwhile.
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
      // Not by itself: a process of the container keeps its side open for as long as it lives.
      stderr?.destroy()
    }
  }

  /** Whether it says this, before it says no more. */
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

  /** Lets this program end while the shell still waits; it ends with it. */
  unref(): void {
    this.#hold('unref')
  }

  ref(): void {
    this.#hold('ref')
  }

  /** Nothing will be run in it. */
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

  /** Groups that it is in already. */
  get groups(): readonly string[] {
    return this.#base?.groups ?? []
  }

  /** What is mounted in the namespaces stays where it is, whatever its folder is called outside of them. */
  #useBase(root: string | undefined): boolean {
    if (!this.#base) return false
    if (root === undefined) this.#dropBase()
    else renameSync(this.#base.folder, root)
    return root !== undefined
  }

  #dropBase(): void {
    // What cannot be removed now is removed at the next start.
    if (this.#base) rm(this.#base.folder, { recursive: true, force: true }).catch(() => {})
  }

  #hold(how: 'ref' | 'unref'): void {
    this.child[how]()
    for (const stream of [this.child.stdin, this.child.stderr]) {
      if (stream instanceof Socket) stream[how]()
    }
  }
}
