import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { errorMessage } from '../../foundation/errors.ts'
import type { Clock } from '../../foundation/clock.ts'
import { type ContainerScript, readyWord } from './container-script.ts'

/** How long making a container's namespaces may take. */
const setupDeadlineMs = 30_000
const longestReport = 2000

/**
 * The first process of one container, in namespaces that are made for it where its command says so. It does nothing until it is
 * told what, and ends by itself when whoever started it is gone before that.
 */
export class ContainerShell {
  readonly child: ChildProcess
  #isUsed = false
  #failure = ''

  constructor(
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>> = {},
    output: 'ignore' | 'pipe' = 'ignore',
  ) {
    const [program, ...args] = command
    const stdio: StdioOptions = ['pipe', output, 'pipe']
    // A session and process group of its own: it does not get our Ctrl-C, and all of it can be signalled at once.
    this.child = spawn(program, args, { cwd: '/', env, stdio, detached: true })
    this.child.once('error', (error) => (this.#failure = error.message))
    // What cannot be written is seen by the end of the other side.
    this.child.stdin?.on('error', () => {})
    this.child.stderr?.setEncoding('utf8')
  }

  /** Whether it can still be told what to do. */
  get isWaiting(): boolean {
    const { pid, exitCode, signalCode } = this.child
    return !this.#isUsed && pid !== undefined && exitCode === null && signalCode === null
  }

  /**
   * Resolves when the program of the script is about to run, with nothing to say, or with what kept it from that. The program runs
   * when `permitted` resolves, and not at all when it rejects; everything before that is done meanwhile.
   */
  async run({ setup, program }: ContainerScript, clock: Clock, permitted?: Promise<unknown>): Promise<string> {
    const { stdin, stderr } = this.child
    this.#isUsed = true
    if (!permitted) {
      stdin?.write(setup)
      stdin?.end(program)
    } else {
      stdin?.write(setup)
      permitted.then(
        () => stdin?.end(program),
        () => stdin?.end(),
      )
    }
    if (!stderr) return this.#failure
    const cancel = clock.after(setupDeadlineMs, () => stderr.destroy(new Error('it took too long')))
    let report = ''
    try {
      for await (const chunk of stderr) {
        report = (report + String(chunk)).slice(0, longestReport)
        // Not the end of the stream: unshare itself keeps its side open for as long as the container lives.
        if (report.endsWith(`${readyWord}\n`)) return ''
      }
    } catch (error) {
      report += errorMessage(error)
    } finally {
      cancel()
    }
    return report.trim().replaceAll('\n', '; ') || this.#failure || 'they ended at once'
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
    this.child.stderr?.resume()
  }

  #hold(how: 'ref' | 'unref'): void {
    this.child[how]()
    for (const stream of [this.child.stdin, this.child.stderr]) {
      if (stream instanceof Socket) stream[how]()
    }
  }
}
